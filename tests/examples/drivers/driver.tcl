# SPDX-License-Identifier: MIT
# driver.tcl DRIVER WAY: a transaction of a shop by a driver of Tcl, with its guard.
set update {UPDATE shop SET balance = balance - 10 WHERE id = 1}
set guard [split [string map {{; } \n} $env(ROWLOCK_GUARD_SQL)] \n]
if {[lindex $argv 0] eq "tdbc"} {
	package require tdbc::mysql
	tdbc::mysql::connection create db -host $env(SHOP_HOST) \
		-port $env(SHOP_PORT) -user $env(SHOP_USER) \
		-password $env(SHOP_PASSWORD) -database $env(SHOP_DATABASE)
	db begintransaction
	db allrows $update
	foreach statement $guard {
		db allrows $statement
	}
	db commit
} else {
	package require mysqltcl
	set db [mysql::connect -host $env(SHOP_HOST) -port $env(SHOP_PORT) \
		-user $env(SHOP_USER) -password $env(SHOP_PASSWORD) \
		-db $env(SHOP_DATABASE)]
	mysql::autocommit $db false
	mysql::exec $db $update
	foreach statement $guard {
		mysql::exec $db $statement
	}
	mysql::commit $db
}
