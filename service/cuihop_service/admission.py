"""What every question passes, whatever its transport: who asks, may they, is there room; and afterwards the account."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

from cuihop.errors import CuihopError, QueryTimedOut, RateLimited
from cuihop.remote.statuses import status_of
from cuihop.resources.interruption import interrupted_by
from cuihop_service.answers import Answer
from cuihop_service.callers import ANONYMOUS, Caller, Scope
from cuihop_service.limits import Limits
from cuihop_service.request_context import Call, Cancelled

__all__ = ["Asked", "Finished", "Front", "Guard", "Observer", "Observers", "OpenGuard", "SilentObserver"]

T = TypeVar("T")

_log = logging.getLogger("cuihop.service")

_FAILED = "an observer failed"


@dataclass(slots=True)  # one is made for each question, and a frozen one takes twice as long
class Asked:
    """What a transport knows of a question. Nobody changes it while it is answered.

    Attributes:
        operation: its name, one of few, as in ``distance``.
        transport: ``http``, ``grpc`` or ``web``.
        credentials: the value of the ``authorization`` header; None where there is none.
        request_id: chosen by the caller, or made here.
        seconds: how long the caller waits; None for as long as the service allows.
        size: pairs, concepts or sets in it.
        scope: what the caller must have.
        quick: whether it is answered at once, without a thread.
        trace: the ``traceparent`` header.
        subject: name in the certificate that the caller has shown.
        peer: the address that the question came from; a proxy's, where one stands between.
        caller: who asks, where the guard was asked before, as for the body of a request.
        question: gives the question's content as plain values, for an audit that wants it.
    """

    operation: str
    transport: str
    credentials: str | None = None
    request_id: str = ""
    seconds: float | None = None
    size: int = 1
    scope: Scope = "read"
    quick: bool = False
    trace: str | None = None
    subject: str | None = None
    peer: str | None = None
    caller: Caller | None = None
    question: Callable[[], Mapping[str, Any]] | None = None


@dataclass(slots=True)
class Finished:
    """The account of an answered, or refused, question. Nobody changes it.

    Attributes:
        asked: the question.
        caller: who asked; None where that was not to be learnt.
        seconds: from the question's arrival to its answer.
        reason: ``OK``, ``CANCELLED``, or the reason of the error in `cuihop.remote.statuses`.
        tier: which part of the service answered; None for none.
        digest: of the release that answered.
        detail: the error's message.
    """

    asked: Asked
    caller: Caller | None
    seconds: float
    reason: str
    tier: str | None = None
    digest: str | None = None
    detail: str = ""


class Guard(Protocol):
    """Who may ask, and how often. Asked in the event loop: what has to wait for others returns an awaitable."""

    def caller(self, asked: Asked) -> Caller | Awaitable[Caller]:
        """Who asks.

        Raises:
            NotAuthenticated: no credentials, or none that are valid.
            RateLimited: too many that were not valid.
            GraphUnavailable: they cannot be verified at the moment.
        """

    def admit(self, caller: Caller, asked: Asked) -> Awaitable[None] | None:
        """Count the question.

        Raises:
            RateLimited: there were too many.
            LimitExceeded: the question is larger than the caller's rate ever allows.
        """

    def waits(self, asked: Asked) -> bool:
        """Whether `caller` or `admit` may have to wait for others before this question is answered."""


class OpenGuard:
    """Lets everybody in: for a service that listens on loopback only."""

    def caller(self, asked: Asked) -> Caller:
        """Anonymous, whatever was shown."""
        return ANONYMOUS

    def admit(self, caller: Caller, asked: Asked) -> None:
        """Count nothing."""

    def waits(self, asked: Asked) -> bool:
        """Never."""
        return False


class Observer(Protocol):
    """Who keeps the account."""

    def started(self, asked: Asked) -> Any:
        """A question arrived. What is returned comes back to `finished`."""

    def finished(self, finished: Finished, token: Any) -> None:
        """A question was answered or refused."""

    def waiting(self, running: int, waiting: int) -> None:
        """So many questions are being answered, and so many wait."""


class SilentObserver:
    """Keeps none."""

    def started(self, asked: Asked) -> None:
        """Nothing."""

    def finished(self, finished: Finished, token: Any) -> None:
        """Nothing."""

    def waiting(self, running: int, waiting: int) -> None:
        """Nothing."""


class Observers:
    """Several as one. An observer that fails is told in the log, and disturbs nobody.

    Args:
        observers: from the outermost to the innermost: the first is told of a beginning first, and of an end last.
    """

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers
        self._started = [observer.started for observer in observers]
        self._finished = [observer.finished for observer in reversed(observers)]

    def started(self, asked: Asked) -> Sequence[Any]:
        """Tell each, and keep what each returns."""
        tokens = []
        for started in self._started:
            try:
                tokens.append(started(asked))
            except Exception:
                _log.exception(_FAILED)
                tokens.append(None)
        return tokens

    def finished(self, finished: Finished, token: Any) -> None:
        """Tell each, with what it returned before."""
        for tell, own in zip(self._finished, reversed(token), strict=True):
            try:
                tell(finished, own)
            except Exception:
                _log.exception(_FAILED)

    def waiting(self, running: int, waiting: int) -> None:
        """Tell each."""
        for observer in self._observers:
            try:
                observer.waiting(running, waiting)
            except Exception:
                _log.exception(_FAILED)


class _Account:
    """What the observer is told of one question: it begins with the ``with`` block, and ends with it."""

    __slots__ = ("_asked", "_begun", "_observer", "_token", "_told", "caller")

    def __init__(self, observer: Observer, asked: Asked, begun: float | None = None) -> None:
        self._observer = observer
        self._asked = asked
        self._begun = time.perf_counter() if begun is None else begun
        self._told: Answer[Any] | None = None
        self._token = observer.started(asked)
        self.caller: Caller | None = None

    def keep(self, call: Call, answer: T) -> T:
        """Keep where the answer comes from, and pass it on."""
        self._told = answer if isinstance(answer, Answer) else call.answer
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        reason, tier, digest, detail = "OK", None, None, ""
        if error is None:
            if self._told is not None:
                tier, digest = self._told.tier, self._told.digest
        elif isinstance(error, CuihopError):
            reason, detail = "CANCELLED" if isinstance(error, Cancelled) else status_of(error).reason, str(error)
        elif isinstance(error, asyncio.CancelledError):
            reason = "CANCELLED"
        else:
            reason, detail = "INTERNAL", repr(error)
        spent = time.perf_counter() - self._begun
        self._observer.finished(Finished(self._asked, self.caller, spent, reason, tier, digest, detail), self._token)


class Front:
    """Answers questions: quick ones at once, others in a bounded pool of threads, with a bounded queue before it.

    Args:
        limits: how many at a time, and how long.
        guard: who may ask.
        observer: who keeps the account.
    """

    def __init__(self, limits: Limits, guard: Guard | None = None, observer: Observer | None = None) -> None:
        self.limits = limits
        self.guard: Guard = guard or OpenGuard()
        self.observer: Observer = observer or SilentObserver()
        self._pool = ThreadPoolExecutor(limits.running, thread_name_prefix="answer")
        self._room = asyncio.Semaphore(limits.running)
        self._running = 0
        self._waiting = 0
        self._under_way: set[Call] = set()

    @property
    def running(self) -> int:
        """Questions in the threads at this moment."""
        return self._running

    async def identified(self, asked: Asked) -> Caller:
        """Who asks, before the question itself is read. A refusal is accounted for like that of a question.

        Raises:
            NotAuthenticated, RateLimited, GraphUnavailable: see `Guard.caller`.
        """
        begun = time.perf_counter()
        try:
            found = self.guard.caller(asked)
            return found if isinstance(found, Caller) else await found
        except CuihopError:
            with _Account(self.observer, asked, begun):
                raise

    async def allowed(self, asked: Asked) -> Caller:
        """Authenticate a caller and check the scope, before the question itself is read. Refusals are accounted for.

        Raises:
            NotAuthenticated, RateLimited, GraphUnavailable: see `Guard.caller`.
            NotAllowed: the scope is missing.
        """
        caller = asked.caller or await self.identified(asked)
        if not caller.may(asked.scope):
            with _Account(self.observer, asked) as account:
                account.caller = caller
                caller.check(asked.scope)
        return caller

    def at_once(self, asked: Asked, work: Callable[[Call], T]) -> T:
        """The answer to a quick question, without a turn of the event loop: where `Guard.waits` says no.

        Raises:
            NotAuthenticated, NotAllowed, RateLimited: before the answer.
            CuihopError: what ``work`` raises.
        """
        with _Account(self.observer, asked) as account:
            caller = self.guard.caller(asked)
            if not isinstance(caller, Caller):
                raise TypeError("the guard waits, and said that it would not")
            account.caller = caller
            caller.check(asked.scope)
            if self.guard.admit(caller, asked) is not None:
                raise TypeError("the guard waits, and said that it would not")
            call = self._call(caller, asked)
            return account.keep(call, work(call))

    async def answer(self, asked: Asked, work: Callable[[Call], T]) -> T:
        """The answer that ``work`` gives.

        Raises:
            NotAuthenticated, NotAllowed, RateLimited, QueryTimedOut: before or instead of the answer.
            CuihopError: what ``work`` raises.
        """
        with _Account(self.observer, asked) as account:
            caller = asked.caller
            if caller is None:
                found = self.guard.caller(asked)
                caller = found if isinstance(found, Caller) else await found
            account.caller = caller
            caller.check(asked.scope)
            admitted = self.guard.admit(caller, asked)
            if admitted is not None:
                await admitted
            call = self._call(caller, asked)
            return account.keep(call, work(call) if asked.quick else await self._in_thread(work, call))

    def _call(self, caller: Caller, asked: Asked) -> Call:
        seconds = self.limits.seconds if asked.seconds is None else min(asked.seconds, self.limits.seconds)
        return Call(caller, asked.request_id, time.monotonic() + seconds)

    async def _in_thread(self, work: Callable[[Call], T], call: Call) -> T:
        """The answer, made in a thread, which stops between two blocks of its work where nobody waits any more."""
        if self._room.locked() and self._waiting >= self.limits.waiting:
            raise RateLimited(
                f"{self._running:,} questions are being answered and {self._waiting:,} wait; ask again in a moment",
                retry_after=1.0,
            )
        self._waiting += 1
        if self._room.locked():
            self.observer.waiting(self._running, self._waiting)
        try:
            if self._room.locked():
                await asyncio.wait_for(self._room.acquire(), call.remaining)
            else:
                await self._room.acquire()  # at once
        except TimeoutError:
            raise QueryTimedOut("the service was too busy to begin in time") from None
        finally:
            self._waiting -= 1
        self._running += 1
        self._under_way.add(call)
        self.observer.waiting(self._running, self._waiting)
        context = contextvars.copy_context()
        future = asyncio.get_running_loop().run_in_executor(self._pool, context.run, _interruptible, work, call)
        # Not before: a thread that was given up still takes room.
        future.add_done_callback(lambda ended: self._leave(call, ended))
        try:
            async with asyncio.timeout(call.remaining):
                return await asyncio.shield(future)
        except TimeoutError:
            raise QueryTimedOut("the answer took longer than allowed") from None
        finally:
            call.cancelled = True

    def _leave(self, call: Call, future: asyncio.Future[Any]) -> None:
        if not future.cancelled():
            future.exception()  # an answer that nobody waits for may fail in silence
        self._under_way.discard(call)
        self._running -= 1
        self._room.release()
        self.observer.waiting(self._running, self._waiting)

    def close(self) -> None:
        """Stop what is under way at the next look at its deadline, and end the threads."""
        for call in self._under_way:
            call.cancelled = True
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def idle(self, seconds: float) -> bool:
        """Wait until no thread works any more, or for so many seconds. Returns whether none does."""
        ends = time.monotonic() + seconds
        while self._running and time.monotonic() < ends:
            await asyncio.sleep(0.01)
        return not self._running


def _interruptible(work: Callable[[Call], T], call: Call) -> T:
    """The answer; `cuihop.resources.interruption` stops the work where it is overdue, or where the caller has gone."""
    with interrupted_by(call.check):
        call.check()
        return work(call)
