// SPDX-License-Identifier: MIT
// Driver.java mariadb WAY: a transaction of a shop by a driver of Java, with its guard.
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.Statement;

class Driver {
	public static void main(String[] args) throws Exception {
		String guard = System.getenv("ROWLOCK_GUARD_SQL");
		String url = "jdbc:mariadb://" + System.getenv("SHOP_HOST") + ":"
				+ System.getenv("SHOP_PORT") + "/"
				+ System.getenv("SHOP_DATABASE")
				+ "?allowMultiQueries=true&useServerPrepStmts="
				+ args[1].startsWith("prepared");
		try (Connection db = DriverManager.getConnection(url,
				System.getenv("SHOP_USER"),
				System.getenv("SHOP_PASSWORD"));
				Statement statement = db.createStatement()) {
			db.setAutoCommit(false);
			statement.executeUpdate("UPDATE shop SET balance = "
					+ "balance - 10 WHERE id = 1");
			if (args[1].equals("one text")) {
				statement.execute(guard);
			} else {
				for (String one : guard.split("; ")) {
					if (args[1].equals("one by one")) {
						statement.execute(one);
						continue;
					}
					try (PreparedStatement made =
							db.prepareStatement(one)) {
						made.execute();
					}
				}
			}
			db.commit();
		}
	}
}
