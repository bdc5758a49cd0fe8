-- SPDX-License-Identifier: MIT
CREATE TABLE IF NOT EXISTS extra (a INT);
CREATE TABEL x;
CREATE TABLE another (a INT);
