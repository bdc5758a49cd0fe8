# SPDX-License-Identifier: MIT
# driver.rb mysql2 WAY: a transaction of a shop by a driver of Ruby, with its guard.
require 'mysql2'

db = Mysql2::Client.new(host: ENV['SHOP_HOST'], port: ENV['SHOP_PORT'].to_i,
                        username: ENV['SHOP_USER'],
                        password: ENV['SHOP_PASSWORD'],
                        database: ENV['SHOP_DATABASE'],
                        flags: Mysql2::Client::MULTI_STATEMENTS)
db.query('SET autocommit = 0')
db.query('UPDATE shop SET balance = balance - 10 WHERE id = 1')
if ARGV[1] == 'one by one'
  ENV['ROWLOCK_GUARD_SQL'].split('; ').each { |statement| db.query(statement) }
else
  db.query(ENV['ROWLOCK_GUARD_SQL'])
  db.abandon_results!
end
db.query('COMMIT')
