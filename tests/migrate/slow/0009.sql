-- SPDX-License-Identifier: MIT
-- Longer than a question may take in migrate-slow.
DO SLEEP(2);
