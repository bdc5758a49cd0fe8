<?php
// SPDX-License-Identifier: MIT
// counter.php NAME ROUNDS: count up under holds, of which some are lost meanwhile.
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
[, $name, $rounds] = $argv;
$committed = 0;
$cnf = parse_ini_file('shop.cnf');
$db = new mysqli($cnf['host'], $cnf['user'], $cnf['password'],
    $cnf['database'], (int) $cnf['port']);
$db->autocommit(false);
for ($i = 0; $i < $rounds; $i++) {
    $hold = proc_open(['rowlock', 'hold', '--json', '--guarded', '-t', '1s', $name],
        [['pipe', 'r'], ['pipe', 'w']], $pipes);
    $held = json_decode(fgets($pipes[1]), true);
    if ($held['event'] != 'held')
        throw new Exception($held['message']);
    [$n] = $db->query('SELECT n FROM shop_counter')->fetch_row();
    if (mt_rand(1, 10) == 1)
        shell_exec('rowlock break ' . escapeshellarg($name));
    try {
        $db->query('UPDATE shop_counter SET n = ' . ($n + 1));
        foreach (getenv('UNGUARDED') ? [] : $held['guard'] as $statement)
            $db->query($statement);
        $guarded = true;
    } catch (mysqli_sql_exception $error) {
        $guarded = false;
    }
    if ($guarded) {
        $db->commit();
        $committed++;
    } else {
        $db->rollback();
    }
    fclose($pipes[0]);
    proc_close($hold);
}
echo "$committed\n";
