<?php
// SPDX-License-Identifier: MIT
// driver.php DRIVER WAY: a transaction of a shop by a driver of PHP, with its guard.
$update = 'UPDATE shop SET balance = balance - 10 WHERE id = 1';
$guard = getenv('ROWLOCK_GUARD_SQL');
[, $driver, $way] = $argv;

function pdo($options)
{
    return new PDO('mysql:host=' . getenv('SHOP_HOST') . ';port=' . getenv('SHOP_PORT') .
        ';dbname=' . getenv('SHOP_DATABASE'), getenv('SHOP_USER'),
        getenv('SHOP_PASSWORD'), $options);
}

if ($driver == 'pdo') {
    $db = pdo([PDO::ATTR_ERRMODE => $way == 'errors passed over'
            ? PDO::ERRMODE_SILENT : PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_EMULATE_PREPARES => $way != 'prepared by the server, one by one']);
    $db->beginTransaction();
    $db->exec($update);
    switch ($way) {
    case 'exec': $db->exec($guard); break;
    case 'query': $db->query($guard); break;
    case 'prepared, and forgotten':
        $made = $db->prepare($guard);
        $made->execute();
        unset($made);
        break;
    case 'prepared by the server, one by one':
        foreach (explode('; ', $guard) as $statement)
            $db->prepare($statement)->execute();
        break;
    default:
        foreach (explode('; ', $guard) as $statement)
            $db->exec($statement);
    }
    $db->commit();
} else {
    mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
    $db = new mysqli(getenv('SHOP_HOST'), getenv('SHOP_USER'),
        getenv('SHOP_PASSWORD'), getenv('SHOP_DATABASE'),
        (int) getenv('SHOP_PORT'));
    $db->autocommit(false);
    $db->query($update);
    if ($way == 'one by one') {
        foreach (explode('; ', $guard) as $statement)
            $db->query($statement);
    } else {
        $db->multi_query($guard);
        while ($way == 'one text and its results' && $db->more_results())
            $db->next_result();
    }
    $db->commit();
}
