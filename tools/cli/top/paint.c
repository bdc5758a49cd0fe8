/* SPDX-License-Identifier: MIT */
/*
 * See paint.h. The width of each character is asked before it is written: one
 * that ncurses would write otherwise than as one cell, or two, would shift all
 * behind it.
 *
 * Failure modes: a terminal whose kind is not known, or which cannot place its
 * cursor, has no screen.
 */
#include "top/paint.h"

#define NCURSES_NOMACROS
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/macro.h"
#include "common/report.h"
#include "common/text.h"
#include "show/grid.h"

enum { PAIR_GOOD = 1, PAIR_BAD };

static bool coloured, utf8;

/* ncurses handles these. They are read here (run/signals.h), and have their
 * default effect when the terminal has been given back. */
static const int handled[] = { SIGINT, SIGTERM, SIGTSTP, SIGWINCH };
static struct sigaction before[RLK_ARRAY_SIZE(handled)];

static void begin_colours(void)
{
	const char *no_color = getenv("NO_COLOR");

	coloured = has_colors() && !(no_color && *no_color) &&
		   start_color() == OK && use_default_colors() == OK;
	if (!coloured)
		return;
	init_pair(PAIR_GOOD, COLOR_GREEN, -1);
	init_pair(PAIR_BAD, COLOR_RED, -1);
}

static bool can_be_screen(void)
{
	const char *place;

	if (!newterm(NULL, stdout, stdin))
		return false;
	place = tigetstr("cup");
	if (place && place != (const char *) -1)
		return true;
	endwin();
	return false;
}

bool paint_begin(void)
{
	const char *kind = getenv("TERM");

	for (size_t i = 0; i < RLK_ARRAY_SIZE(handled); i++)
		sigaction(handled[i], NULL, &before[i]);
	setlocale(LC_CTYPE, "");
	utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	if (!can_be_screen()) {
		report(ROWLOCK_LOG_ERROR,
		       "top: a terminal '%s' has no screen: set TERM to what "
		       "it is, or give -b",
		       kind ? kind : "");
		return false;
	}
	begin_colours();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	return true;
}

void paint_end(void)
{
	if (!isendwin())
		endwin();
	for (size_t i = 0; i < RLK_ARRAY_SIZE(handled); i++)
		sigaction(handled[i], &before[i], NULL);
}

void paint_resize(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 &&
	    size.ws_col > 0)
		resizeterm(size.ws_row, size.ws_col);
	clearok(curscr, TRUE);
}

/* Without colours the dead are bold. Returns the length of what sets it. */
static size_t set_colour(const char *text, attr_t base)
{
	static const struct {
		const char *sequence;
		short pair;
		attr_t mono;
	} colours[] = {
		{ COLOUR_GOOD, PAIR_GOOD, A_NORMAL },
		{ COLOUR_BAD, PAIR_BAD, A_BOLD },
		{ COLOUR_DIM, 0, A_NORMAL },
		{ COLOUR_END, 0, A_NORMAL },
	};

	for (size_t i = 0; i < RLK_ARRAY_SIZE(colours); i++) {
		size_t length = strlen(colours[i].sequence);

		if (strncmp(text, colours[i].sequence, length) != 0)
			continue;
		attr_set(base | (coloured ? A_NORMAL : colours[i].mono),
			 coloured ? colours[i].pair : 0, NULL);
		return length;
	}
	return 1;
}

/* The next character, as one of this locale. Returns the length of it. */
static size_t next(const char *text, wchar_t *ret_character)
{
	mbstate_t state = { 0 };
	size_t length = 1;

	if ((unsigned char) *text < 0x80) {
		*ret_character = (wchar_t) *text;
		return 1;
	}
	if (utf8) {
		length = mbrtowc(ret_character, text, MB_CUR_MAX, &state);
		if (length == (size_t) -1 || length == (size_t) -2) {
			*ret_character = 0xfffd;
			return 1;
		}
		if (wcwidth(*ret_character) < 0)
			*ret_character = 0xfffd;
		return length;
	}
	while (((unsigned char) text[length] & 0xc0) == 0x80)
		length++;
	*ret_character = '?';
	return length;
}

void paint_line(int y, const char *text, enum paint_look look)
{
	attr_t base = look == PAINT_CHOSEN  ? A_REVERSE
		      : look == PAINT_TITLE ? A_BOLD
					    : A_NORMAL;
	int used = 0;

	if (y < 0 || y >= LINES)
		return;
	move(y, 0);
	attr_set(base, 0, NULL);
	while (*text) {
		wchar_t character;
		int columns;

		if (*text == '\033') {
			text += set_colour(text, base);
			continue;
		}
		text += next(text, &character);
		columns = wcwidth(character);
		if (used + columns > COLS) {
			mvaddstr(y, COLS - 1, text_cut_mark());
			used = COLS;
			break;
		}
		if (columns > 0 || used < COLS)
			addnwstr(&character, 1);
		used += columns;
	}
	attr_set(base, 0, NULL);
	for (; used < COLS; used++)
		addch(' ');
	attr_set(A_NORMAL, 0, NULL);
}
