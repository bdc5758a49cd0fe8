// SPDX-License-Identifier: MIT
// driver.js mysql WAY: a transaction of a shop by a driver of Node, with its guard.
const E = process.env;
const db = require('mysql').createConnection({
  host: E.SHOP_HOST, port: +E.SHOP_PORT, user: E.SHOP_USER,
  password: E.SHOP_PASSWORD, database: E.SHOP_DATABASE,
  multipleStatements: true,
});
const say = text => new Promise((done, fail) =>
  db.query(text, error => error ? fail(error) : done()));

(async () => {
  await say('SET autocommit = 0');
  await say('UPDATE shop SET balance = balance - 10 WHERE id = 1');
  if (process.argv[3] === 'one by one')
    for (const statement of E.ROWLOCK_GUARD_SQL.split('; '))
      await say(statement);
  else
    await say(E.ROWLOCK_GUARD_SQL);
  await say('COMMIT');
  db.destroy();
})().catch(error => {
  console.error(error.message);
  process.exit(1);
});
