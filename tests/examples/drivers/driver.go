// SPDX-License-Identifier: MIT
// driver.go mysql WAY: a transaction of a shop by a driver of Go, with its guard.
package main

import (
	"database/sql"
	"os"
	"strings"

	_ "github.com/go-sql-driver/mysql"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	e := os.Getenv
	db, err := sql.Open("mysql", e("SHOP_USER")+":"+e("SHOP_PASSWORD")+"@tcp("+
		e("SHOP_HOST")+":"+e("SHOP_PORT")+")/"+e("SHOP_DATABASE")+
		"?multiStatements=true")
	must(err)
	tx, err := db.Begin()
	must(err)
	_, err = tx.Exec("UPDATE shop SET balance = balance - 10 WHERE id = 1")
	must(err)
	guard := []string{e("ROWLOCK_GUARD_SQL")}
	if os.Args[2] == "one by one" {
		guard = strings.Split(guard[0], "; ")
	}
	for _, statement := range guard {
		_, err = tx.Exec(statement)
		must(err)
	}
	must(tx.Commit())
}
