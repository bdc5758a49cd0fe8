// SPDX-License-Identifier: MIT
// holds.cpp - <rowlock/rowlock.hpp> on a server. Speaks TAP.
#include <rowlock/rowlock.hpp>

#include <mysql.h>
#include <rowlock/admin.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>

using namespace std::chrono_literals;

static const std::string name = "test-cpp-" + std::to_string(getpid());
static int number, failed;

static void check(bool truth, const char *words)
{
	std::printf("%s %d - %s\n", truth ? "ok" : "not ok", ++number, words);
	failed += !truth;
}

// The code of what @fn throws; none if it throws nothing.
template <class Fn> static std::error_code thrown(Fn fn)
{
	try {
		fn();
	} catch (const rowlocks::error &error) {
		return error.code();
	}
	return {};
}

static void break_it(const rowlocks::client &client)
{
	if (rowlock_break(client.get(), ROWLOCK_LEASE, name.c_str(), nullptr))
		std::abort();
}

static void excludes(rowlocks::client &one, rowlocks::client &two)
{
	rowlocks::lock mine(one, name), yours(two, name);
	std::error_code code;

	{
		rowlocks::hold hold = mine.acquire(60s), other;

		check(hold && hold.remaining() > 0ms, "a hold is held");
		check(!yours.try_acquire(), "a try for what is held is empty");
		check(thrown([&] { (void) yours.acquire(1us); }) ==
			  rowlocks::errc::timed_out,
		      "a wait rounds up, and throws when it is over");
		check(!yours.acquire(0s, code) && code == rowlocks::errc::busy,
		      "or stores its error");
		other = std::move(hold);
		check(other && !hold, "a hold moves");
	}
	check(yours.try_acquire().has_value(), "its end releases");
	check(thrown([&] { rowlocks::lock(one, ""); }) ==
		  std::error_code(ROWLOCK_ENAME, rowlocks::category()),
	      "a constructor throws the library's error");
	check(thrown([&] { rowlocks::lock(one, std::string("a\0b", 3)); }) ==
		      std::error_code(ROWLOCK_ENAME, rowlocks::category()) &&
		  thrown([&] { rowlocks::client(std::string("\0", 1)); }) ==
		      std::error_code(ROWLOCK_EINVAL, rowlocks::category()),
	      "a text with a NUL in it is refused, not cut there");
	check(thrown([&] { rowlocks::hold().release(); }) ==
		  std::error_code(ROWLOCK_EINVAL, rowlocks::category()),
	      "a hold of nothing cannot be released");
}

static void tells_its_loss(rowlocks::client &client)
{
	rowlocks::lock lock(client, name);
	std::promise<void> lost;
	rowlocks::hold hold = lock.acquire();
	std::uint64_t token = hold.token();
	rowlocks::lock moved = std::move(lock);
	std::error_code code;

	moved.on_lost([&] { lost.set_value(); });
	break_it(client);
	check(thrown([&] { hold.verify(); }) == rowlocks::errc::lost,
	      "verify tells of a break");
	lost.get_future().wait();
	check(!hold, "the callback tells of it, and a lost hold is false");
	hold.release(code);
	check(code == rowlocks::errc::lost && !hold.get(),
	      "release tells of it, and the hold is of nothing");
	hold = moved.acquire();
	check(hold.token() > token, "the next hold has a larger token");
	moved.on_lost(nullptr);
	hold.release();
}

// The callback replaces itself, or, with @ends, destroys the lock.
static void ends_its_callback(rowlocks::client &client, bool ends)
{
	std::optional<rowlocks::lock> lock(std::in_place, client, name);
	auto told = std::make_shared<std::promise<bool>>();
	auto kept = std::make_shared<int>();
	std::weak_ptr<int> watch = kept;
	std::promise<void> set;
	auto ready = set.get_future();

	if (rowlock_acquire(lock->get(), ROWLOCK_FOREVER, nullptr))
		std::abort();
	break_it(client);
	if (rowlock_verify(lock->get(), nullptr) != ROWLOCK_ELOST)
		std::abort();
	lock->on_lost([&, told, kept = std::move(kept)] {
		auto tell = told;
		auto seen = watch;

		ready.wait();
		if (ends)
			lock.reset();
		else
			lock->on_lost(nullptr);
		tell->set_value(!seen.expired());
	});
	set.set_value();
	check(told->get_future().get(),
	      ends ? "a callback that destroys its lock runs to its end"
		   : "a callback that replaces itself runs to its end");
}

static int balance(MYSQL *mysql)
{
	mysql_query(mysql, "SELECT n FROM cpp_counter");
	MYSQL_RES *result = mysql_store_result(mysql);
	int n = std::atoi(mysql_fetch_row(result)[0]);

	mysql_free_result(result);
	return n;
}

static void guards(rowlocks::client &client, MYSQL *mysql)
{
	const char *add = "UPDATE cpp_counter SET n = n + 1";
	rowlocks::lock lock(client, name);
	rowlocks::hold hold = lock.acquire();

	{
		rowlocks::transaction transaction(hold, mysql);
		mysql_query(mysql, add);
		transaction.commit();
	}
	check(balance(mysql) == 1, "a transaction commits");
	{
		rowlocks::transaction transaction(hold, mysql);
		mysql_query(mysql, "SELECT n FROM cpp_counter");
		check(thrown([&] { transaction.commit(); }) ==
			  std::error_code(ROWLOCK_EINVAL, rowlocks::category()),
		      "behind an unread result it is not committed");
		mysql_free_result(mysql_store_result(mysql));
		mysql_query(mysql, "UPDATE cpp_counter SET n = n + 100");
	}
	check(balance(mysql) == 1, "nor is it left open");
	{
		rowlocks::transaction transaction(hold, mysql);
		mysql_query(mysql, add);
	}
	check(balance(mysql) == 1, "its destructor rolls back");
	check(hold.guard_sql().find("rowlock_guard") != std::string::npos,
	      "the guard is there as text");
	check(thrown([&] {
		      rowlocks::transaction transaction(hold, mysql);
		      mysql_query(mysql, add);
		      break_it(client);
		      transaction.commit();
	      }) == rowlocks::errc::lost &&
		  balance(mysql) == 1,
	      "and does not commit without its lock");
}

static void ends_late_or_elsewhere(rowlocks::client &client,
				   rowlocks::client &other, MYSQL *mysql)
{
	rowlocks::lock lock(client, name), yours(other, name);

	{
		rowlocks::hold hold = lock.acquire();
		rowlocks::transaction transaction(hold, mysql);

		check(thrown([&] { hold.release(); }) ==
			      std::error_code(ROWLOCK_EHELD,
					      rowlocks::category()) &&
			  hold,
		      "under an open transaction a hold is not released");
		transaction.rollback();
	}
	check(yours.try_acquire().has_value(), "its end releases it then");
	auto hold = std::make_unique<rowlocks::hold>(lock.acquire());
	auto transaction =
	    std::make_unique<rowlocks::transaction>(*hold, mysql);

	std::async(std::launch::async, [&] {
		transaction.reset();
		hold.reset();
	}).get();
	check(yours.try_acquire().has_value(),
	      "a hold ends in another thread than it began");
}

static void hands_over(rowlocks::client &one, rowlocks::client &two)
{
	const std::error_code invalid(ROWLOCK_EINVAL, rowlocks::category());
	rowlocks::lock mine(one, name), yours(two, name);
	std::error_code code;
	std::string text, cut;

	{
		rowlocks::hold hold = mine.acquire();

		text = hold.export_hold();
		check(!hold && !hold.get(), "what is exported is not held");
		check(thrown([&] { (void) hold.export_hold(); }) == invalid,
		      "nor can it be exported again");
	}
	check(!yours.try_acquire(), "its end does not release it");
	cut = text + std::string("\0", 1);
	check(thrown([&] { (void) yours.adopt(cut); }) == invalid &&
		  !yours.adopt(cut, code) && code == invalid &&
		  thrown([&] { (void) yours.adopt("rowlock1."); }) == invalid,
	      "another text than its string does not adopt it");
	{
		rowlocks::hold hold = yours.adopt(text);

		check(hold && hold.token() > 0, "its string does");
		text = hold.export_hold();
	}
	{
		rowlocks::hold hold = mine.adopt(text, code);

		check(!code && hold, "or stores its error");
	}
	check(thrown([&] { (void) yours.adopt(text); }) ==
		      rowlocks::errc::lost &&
		  yours.try_acquire().has_value(),
	      "the end of the adopted hold releases it");
}

int main()
{
	const char *dsn = std::getenv("ROWLOCK_DSN");
	rowlocks::client one{ std::string(dsn) }, two(std::move(one));
	MYSQL *mysql = mysql_init(nullptr);

	one = rowlocks::client(std::string(dsn));
	if (!mysql_real_connect(mysql, dsn, nullptr, nullptr, nullptr, 0,
				nullptr, CLIENT_MULTI_STATEMENTS) ||
	    mysql_query(mysql, "CREATE TABLE IF NOT EXISTS cpp_counter "
			       "(n INT NOT NULL)") ||
	    mysql_query(mysql, "DELETE FROM cpp_counter") ||
	    mysql_query(mysql, "INSERT INTO cpp_counter VALUES (0)")) {
		std::fprintf(stderr, "%s\n", mysql_error(mysql));
		return 99;
	}
	excludes(one, two);
	tells_its_loss(one);
	hands_over(one, two);
	ends_its_callback(one, false);
	ends_its_callback(one, true);
	guards(one, mysql);
	ends_late_or_elsewhere(one, two, mysql);
	mysql_query(mysql, "DROP TABLE cpp_counter");
	mysql_close(mysql);
	std::printf("1..%d\n", number);
	return failed != 0;
}
