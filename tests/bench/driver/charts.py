# SPDX-License-Identifier: MIT
def draw(results, directory, machine):
    pass
