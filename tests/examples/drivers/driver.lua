-- SPDX-License-Identifier: MIT
-- driver.lua luasql WAY: a transaction of a shop by a driver of Lua, with its guard.
local db = assert(require('luasql.mysql').mysql():connect(
	os.getenv('SHOP_DATABASE'), os.getenv('SHOP_USER'),
	os.getenv('SHOP_PASSWORD'), os.getenv('SHOP_HOST'),
	tonumber(os.getenv('SHOP_PORT'))))
assert(db:setautocommit(false))
assert(db:execute('UPDATE shop SET balance = balance - 10 WHERE id = 1'))
for statement in (os.getenv('ROWLOCK_GUARD_SQL') .. '; '):gmatch('(.-); ') do
	local done, told = db:execute(statement)
	if arg[2] == 'one by one' then assert(done, told) end
end
assert(db:commit())
