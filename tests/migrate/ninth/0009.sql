-- SPDX-License-Identifier: MIT
CREATE TABLE IF NOT EXISTS extra (a INT);
