/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_HPP
#define ROWLOCK_HPP

/**
 * rowlock for C++17: <rowlock.h> with destructors, std::chrono and exceptions.
 *
 *     rowlocks::client client("host=db1;database=app");
 *     rowlocks::lock lock(client, "nightly");
 *     rowlocks::hold hold = lock.acquire(10s);     // throws rowlocks::error
 *     run_the_job(hold.token());
 *     hold.release();                              // throws if it was lost
 *
 * A hold releases in its destructor, which has nobody to tell of a loss: call
 * release() where that counts. A lock outlives its hold, a client its locks.
 * The namespace is "rowlocks", as "rowlock" is the struct of the C library;
 * get() gives the C object to each call that has no method here, such as those
 * of the other headers. The comments in <rowlock.h> are the manual of what the
 * methods do; what is said there of threads, and of fork(), holds here.
 *
 * Errors: a method throws rowlocks::error, or, if it takes a std::error_code,
 * stores that and throws nothing. Compare it with rowlocks::errc.
 */

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <rowlock.h>
#include <rowlock/adoption.h>
#include <rowlock/mysql.h>

namespace rowlocks
{

/** The ROWLOCK_E* that one may want to tell from others. */
enum class errc {
	busy = ROWLOCK_EBUSY,
	timed_out = ROWLOCK_ETIMEDOUT,
	canceled = ROWLOCK_ECANCELED,
	lost = ROWLOCK_ELOST,
	deadlock = ROWLOCK_EDEADLOCK,
	not_held = ROWLOCK_ENOTHELD,
	unreachable = ROWLOCK_ECONNECT,
	broken = ROWLOCK_EBROKEN,
	unknown = ROWLOCK_EUNKNOWN,
};

/** Its values are ROWLOCK_E*, its texts those of rowlock_strerror(). */
inline const std::error_category &category() noexcept
{
	class category_type : public std::error_category
	{
		const char *name() const noexcept override
		{
			return "rowlock";
		}
		std::string message(int code) const override
		{
			return rowlock_strerror(code);
		}
	};
	static const category_type it;

	return it;
}

inline std::error_code make_error_code(errc code) noexcept
{
	return { static_cast<int>(code), category() };
}

/** A call has failed. what() begins with the message of the library. */
class error : public std::system_error
{
	unsigned int mysql_;

      public:
	explicit error(const rowlock_errinfo &info)
	    : std::system_error(info.code, category(), info.message),
	      mysql_(info.mysql)
	{
	}
	/** The server's or Connector/C's errno, 0 if none. */
	unsigned int mysql() const noexcept
	{
		return mysql_;
	}
};

namespace detail
{

inline void check(int code, const rowlock_errinfo &info)
{
	if (code)
		throw error(info);
}

/* C reads no further than the first NUL, which would be another name. @what
 * says nothing of a DSN's text: there may be a password in it. */
inline const char *text(const std::string &of, int code,
			const std::string &what)
{
	rowlock_errinfo info{};

	if (of.find('\0') == std::string::npos)
		return of.c_str();
	info.code = code;
	std::snprintf(info.message, sizeof(info.message),
		      "%.200s has a NUL byte in it: give it without",
		      what.c_str());
	throw error(info);
}

/* Rounded up: a wait of less than a millisecond is none that only tries. */
template <class Rep, class Period>
std::uint64_t wait_ms(std::chrono::duration<Rep, Period> wait)
{
	using milliseconds = std::chrono::duration<long double, std::milli>;
	long double ms = std::chrono::duration_cast<milliseconds>(wait).count();
	std::uint64_t whole;

	if (!(ms > 0))
		return 0;
	if (ms >= 9.2e18L)
		return ROWLOCK_FOREVER;
	whole = static_cast<std::uint64_t>(ms);
	return whole < ms ? whole + 1 : whole;
}

} /* namespace detail */

/** One process's view of the locks: struct rowlock_client. */
class client
{
	struct freer {
		void operator()(rowlock_client *old) const noexcept
		{
			rowlock_client_free(old);
		}
	};
	std::unique_ptr<rowlock_client, freer> client_;

      public:
	/** @options  nullptr: all from ROWLOCK_DSN and the option files */
	explicit client(const rowlock_client_options *options = nullptr)
	{
		rowlock_errinfo info{};
		rowlock_client *made = nullptr;

		detail::check(rowlock_client_new(options, &made, &info), info);
		client_.reset(made);
	}
	/** @dsn  rowlock_client_options.dsn; the other options have their
	 *        defaults */
	explicit client(const std::string &dsn)
	{
		rowlock_client_options options = ROWLOCK_CLIENT_OPTIONS_DEFAULT;

		options.dsn = detail::text(dsn, ROWLOCK_EINVAL, "the DSN");
		*this = client(&options);
	}
	const char *server() const noexcept
	{
		return rowlock_client_server(get());
	}
	rowlock_client *get() const noexcept
	{
		return client_.get();
	}
};

/** The time in which a lock is held. It can be moved, not copied, and end in
 *  any thread (but see lock). A transaction under it ends before it does. */
class hold
{
	struct ::rowlock *lock_ = nullptr;

      public:
	/** Of nothing. */
	hold() noexcept = default;
	/** Of one level that @handle has acquired. */
	explicit hold(struct ::rowlock *handle) noexcept : lock_(handle)
	{
	}
	hold(hold &&other) noexcept : lock_(std::exchange(other.lock_, nullptr))
	{
	}
	hold &operator=(hold &&other) noexcept
	{
		hold(std::move(other)).swap(*this);
		return *this;
	}
	~hold()
	{
		if (lock_)
			rowlock_release(lock_, nullptr);
	}
	void swap(hold &other) noexcept
	{
		std::swap(lock_, other.lock_);
	}

	/** Is it held by our own clock? rowlock_held(). */
	explicit operator bool() const noexcept
	{
		return lock_ && rowlock_held(lock_);
	}
	/** How long it lasts if the server stays silent from now on. */
	std::chrono::milliseconds remaining() const noexcept
	{
		std::uint64_t ms = lock_ ? rowlock_remaining_ms(lock_) : 0;
		std::uint64_t most = INT64_MAX;

		return std::chrono::milliseconds(ms < most ? ms : most);
	}
	/** The fencing token: rowlock_token(). */
	std::uint64_t token()
	{
		rowlock_errinfo info{};
		std::uint64_t token = 0;

		detail::check(rowlock_token(lock_, &token, &info), info);
		return token;
	}
	/** Ask the server: rowlock_verify(). */
	void verify()
	{
		rowlock_errinfo info{};

		detail::check(rowlock_verify(lock_, &info), info);
	}
	/** The guard as text, for another connection: rowlock_guard_sql(). */
	std::string guard_sql()
	{
		rowlock_errinfo info{};
		char text[ROWLOCK_GUARD_SQL_SIZE];

		detail::check(
		    rowlock_guard_sql(lock_, text, sizeof(text), &info), info);
		return text;
	}
	/** Release it; afterwards this is of nothing, also if errc::lost is
	 *  thrown: it was lost before. With ROWLOCK_EHELD (a transaction is
	 *  open) or ROWLOCK_ENOTOWNER nothing was released: try again. */
	void release()
	{
		rowlock_errinfo info{};

		detail::check(give_up(&info), info);
	}
	void release(std::error_code &ret) noexcept
	{
		ret.assign(give_up(nullptr), category());
	}
	/** Give it up for whoever has the string that is returned, and adopts
	 *  it by lock::adopt(): rowlock_export(). Afterwards this is of
	 *  nothing, and the destructor releases nothing; if it throws, it is
	 *  held on. The string is a secret. */
	std::string export_hold()
	{
		rowlock_errinfo info{};
		char text[ROWLOCK_EXPORT_SIZE];

		detail::check(rowlock_export(lock_, text, sizeof(text), &info),
			      info);
		lock_ = nullptr;
		return text;
	}
	struct ::rowlock *get() const noexcept
	{
		return lock_;
	}

      private:
	int give_up(rowlock_errinfo *reterr) noexcept
	{
		int code = rowlock_release(lock_, reterr);

		if (code != ROWLOCK_EHELD && code != ROWLOCK_ENOTOWNER)
			lock_ = nullptr;
		return code;
	}
};

/**
 * A handle on a name: struct rowlock. Without options the owner is the handle,
 * not a thread (ROWLOCK_OWNER_HANDLE), as a hold can be moved to another one.
 * With options their flags say it: a hold of a thread's ends in that thread, or
 * its end releases nothing. Threads that compete have a lock each: an acquire
 * of what this holds is one level more.
 */
class lock
{
	struct freer {
		void operator()(struct ::rowlock *old) const noexcept
		{
			rowlock_free(old);
		}
	};
	using callback = std::shared_ptr<std::function<void()>>;
	/* The handle goes first: its callback may run until then. */
	std::unique_ptr<callback> on_lost_;
	std::unique_ptr<struct ::rowlock, freer> lock_;

	/* It may replace itself, or destroy the lock, while it runs. */
	static void call(struct ::rowlock *, void *arg) noexcept
	{
		callback running = *static_cast<callback *>(arg);

		(*running)();
	}

      public:
	lock(const client &of, const std::string &name,
	     const rowlock_options *options = nullptr)
	{
		std::string what = std::string("the name '") + name.c_str();
		const char *text =
		    detail::text(name, ROWLOCK_ENAME, what + "'");
		rowlock_options defaults = ROWLOCK_OPTIONS_DEFAULT;
		rowlock_errinfo info{};
		struct ::rowlock *made = nullptr;

		defaults.flags = ROWLOCK_OWNER_HANDLE;
		detail::check(rowlock_new(of.get(), text,
					  options ? options : &defaults, &made,
					  &info),
			      info);
		lock_.reset(made);
	}
	/** Own @made, which another function of the C library has made. */
	explicit lock(struct ::rowlock *made) noexcept : lock_(made)
	{
	}
	lock(lock &&) noexcept = default;
	lock &operator=(lock &&other) noexcept
	{
		lock_ = std::move(other.lock_);
		on_lost_ = std::move(other.on_lost_);
		return *this;
	}

	/** Wait as long as it takes. */
	[[nodiscard]] hold acquire()
	{
		return acquire_ms(ROWLOCK_FOREVER);
	}
	/** Throws errc::timed_out if others held it all the time. */
	template <class Rep, class Period>
	[[nodiscard]] hold acquire(std::chrono::duration<Rep, Period> wait)
	{
		return acquire_ms(detail::wait_ms(wait));
	}
	/** Of nothing, and @ret says why, or a hold. */
	template <class Rep, class Period>
	[[nodiscard]] hold acquire(std::chrono::duration<Rep, Period> wait,
				   std::error_code &ret) noexcept
	{
		int code =
		    rowlock_acquire(get(), detail::wait_ms(wait), nullptr);

		ret.assign(code, category());
		return code ? hold() : hold(get());
	}
	/** Nothing if others have it, for the whole of @wait; throws for
	 *  every other reason. */
	template <class Rep = int, class Period = std::milli>
	[[nodiscard]] std::optional<hold> try_acquire(
	    std::chrono::duration<Rep, Period> wait = {})
	{
		rowlock_errinfo info{};
		int code = rowlock_acquire(get(), detail::wait_ms(wait), &info);

		if (code == ROWLOCK_EBUSY || code == ROWLOCK_ETIMEDOUT)
			return std::nullopt;
		detail::check(code, info);
		return hold(get());
	}
	/** Hold the lease for which hold::export_hold() has returned @text:
	 *  rowlock_adopt(). Throws errc::lost if the string was used before, or
	 *  the lease is over. Waits for nobody. */
	[[nodiscard]] hold adopt(const std::string &text)
	{
		const char *string = detail::text(text, ROWLOCK_EINVAL,
						  "the string of the export");
		rowlock_errinfo info{};

		detail::check(rowlock_adopt(get(), string, &info), info);
		return hold(get());
	}
	/** Of nothing, and @ret says why, or a hold. */
	[[nodiscard]] hold adopt(const std::string &text,
				 std::error_code &ret) noexcept
	{
		bool whole = text.find('\0') == std::string::npos;
		int code = whole ? rowlock_adopt(get(), text.c_str(), nullptr)
				 : ROWLOCK_EINVAL;

		ret.assign(code, category());
		return code ? hold() : hold(get());
	}
	/** End a wait that is under way in another thread. */
	bool cancel() noexcept
	{
		return rowlock_cancel(get()) != 0;
	}
	/** Have @fn called, on a thread of the client, when a hold is lost;
	 *  nullptr: nothing. It must not throw. It may call this; and it may
	 *  destroy the lock, if no object hold of it is left. */
	void on_lost(std::function<void()> fn)
	{
		bool some = static_cast<bool>(fn);
		auto next = std::make_unique<callback>(
		    std::make_shared<std::function<void()>>(std::move(fn)));
		callback *arg = next.get();

		/* First, as @fn may run at once, and call this. */
		std::swap(on_lost_, next);
		rowlock_on_lost(get(), some ? call : nullptr, arg);
	}
	const char *name() const noexcept
	{
		return rowlock_name(get());
	}
	struct ::rowlock *get() const noexcept
	{
		return lock_.get();
	}

      private:
	hold acquire_ms(std::uint64_t wait_ms)
	{
		rowlock_errinfo info{};

		detail::check(rowlock_acquire(get(), wait_ms, &info), info);
		return hold(get());
	}
};

/**
 * A transaction on a MYSQL of the application's that commits only if the hold
 * was not lost: <rowlock/mysql.h>. The destructor rolls back.
 */
class transaction
{
	struct ::rowlock *lock_;
	struct st_mysql *conn_;

	/* Some errors leave it open: the caller may try again. */
	void end(int (*call)(struct ::rowlock *, struct st_mysql *,
			     rowlock_errinfo *))
	{
		rowlock_errinfo info{};
		int code = call(lock_, conn_, &info);

		if (code != ROWLOCK_EINVAL && code != ROWLOCK_ENOTOWNER)
			lock_ = nullptr;
		detail::check(code, info);
	}

      public:
	transaction(const hold &under, struct st_mysql *conn,
		    unsigned int flags = 0)
	    : lock_(under.get()), conn_(conn)
	{
		rowlock_errinfo info{};

		detail::check(rowlock_begin(lock_, conn_, flags, &info), info);
	}
	transaction(const transaction &) = delete;
	transaction &operator=(const transaction &) = delete;
	~transaction()
	{
		if (lock_)
			rowlock_rollback(lock_, conn_, nullptr);
	}
	/** Throws errc::lost or errc::broken: nothing is committed; or
	 *  errc::unknown. */
	void commit()
	{
		end(rowlock_commit);
	}
	void rollback()
	{
		end(rowlock_rollback);
	}
};

} /* namespace rowlocks */

template <> struct std::is_error_code_enum<rowlocks::errc> : std::true_type {
};

#endif /* ROWLOCK_HPP */
