# SPDX-License-Identifier: MIT
"""Between each worker and the server of its lock, where that is none of the
database's: all is passed on, but while a worker is cut off."""

import asyncio
import random
import threading

# Begun per second, of all workers'; and how long at most.
CUTS = 1
CUT_TTLS = 2


class Line:
    """One worker's."""

    def __init__(self, server_port):
        self.server_port = server_port
        self.refuses = False
        self.passes = asyncio.Event()
        self.passes.set()
        self.writers = set()
        self.listener = None

    async def listen(self):
        self.listener = await asyncio.start_server(self._serve, '127.0.0.1', 0)

    @property
    def port(self):
        return self.listener.sockets[0].getsockname()[1]

    def begin(self, closes):
        """Its connections are closed and refused; or nothing comes through
        them until the end."""
        self.passes.clear()
        self.refuses = closes
        if closes:
            for writer in list(self.writers):
                writer.transport.abort()

    def end(self):
        self.refuses = False
        self.passes.set()

    def close(self):
        """For ever."""
        self.listener.close()
        self.begin(closes=True)
        self.passes.set()

    async def cut(self, seconds, closes):
        if self.passes.is_set():
            self.begin(closes)
            await asyncio.sleep(seconds)
            self.end()

    async def _serve(self, reader, writer):
        writers = [writer]
        try:
            if self.refuses:
                return
            reader_there, writer_there = await asyncio.open_connection(
                '127.0.0.1', self.server_port)
            writers.append(writer_there)
            self.writers.update(writers)
            _, unfinished = await asyncio.wait(
                [asyncio.ensure_future(self._pass(reader, writer_there)),
                 asyncio.ensure_future(self._pass(reader_there, writer))],
                return_when=asyncio.FIRST_COMPLETED)
            for task in unfinished:
                task.cancel()
        except OSError:
            pass
        finally:
            for each in writers:
                self.writers.discard(each)
                each.transport.abort()

    async def _pass(self, reader, writer):
        try:
            while said := await reader.read(1 << 16):
                await self.passes.wait()
                writer.write(said)
                await writer.drain()
        except OSError:
            pass


class Cuts:
    """All lines of one form, in a thread."""

    def __init__(self, server_port, workers, seed, ttl_s):
        self.rng = random.Random(seed)
        self.ttl_s = ttl_s
        self.lines = []
        self.cuts = []
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever,
                                       daemon=True)
        self.thread.start()
        self._say(self._listen(server_port, workers))
        asyncio.run_coroutine_threadsafe(self._cut(), self.loop)

    def _say(self, what):
        return asyncio.run_coroutine_threadsafe(what, self.loop).result()

    async def _listen(self, server_port, workers):
        for _ in range(workers):
            line = Line(server_port)
            await line.listen()
            self.lines.append(line)

    async def _cut(self):
        self.cuts.append(asyncio.current_task())
        while True:
            await asyncio.sleep(self.rng.uniform(0, 2 / CUTS))
            line = self.rng.choice(self.lines)
            seconds = self.rng.uniform(0, CUT_TTLS * self.ttl_s)
            self.cuts.append(asyncio.ensure_future(
                line.cut(seconds, self.rng.random() < 0.5)))

    async def _end(self):
        for cut in self.cuts:
            cut.cancel()
        for line in self.lines:
            line.close()
        await asyncio.gather(
            *asyncio.all_tasks() - {asyncio.current_task()},
            return_exceptions=True)

    def close(self):
        self._say(self._end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
