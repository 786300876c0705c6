"""Admission of requests over every transport: authentication, scope, rate and room; the outcome goes to observers."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, Self, TypeVar

from cuihop.adapter_rules import MOST_TEXTS
from cuihop.errors import ConceptError, CuihopError, QueryTimedOut, RateLimited
from cuihop.identifiers import may_be_name
from cuihop.remote.activation import Activation
from cuihop.remote.statuses import status_of
from cuihop.resources.cores import cores
from cuihop.resources.progress import interrupted_by
from cuihop_service.callers import ANONYMOUS, Caller, Scope
from cuihop_service.limits import Limits
from cuihop_service.request_context import Answer, Cancelled, ReleaseSession, RequestContext

T = TypeVar("T")

_log = logging.getLogger("cuihop.service")

SMALL = 4_096
"""Bytes of a request that takes no longer to parse than to refuse."""

_LONG_SECONDS = 1.0
_NEARLY = 0.02
"""Seconds before a deadline that count as late: timers are no more exact."""


def no_turn() -> None:
    """End the turn of a request that takes none."""


@dataclass(slots=True)  # one for each request, and a frozen one takes twice as long
class RequestInfo:
    """A request as its transport describes it. Constant while the request is answered.

    Attributes:
        operation: its name, one of few, as in ``distance``.
        transport: ``http``, ``grpc`` or ``mcp``.
        credentials: the value of the ``authorization`` header; None without one.
        request_id: chosen by the caller, or generated here.
        seconds: the caller's time limit; None for the service's own.
        size: number of pairs, concepts, sets or texts.
        quick: True for an answer without a thread.
        trace: the ``traceparent`` header.
        subject: name in the caller's certificate.
        peer: the address of the connection; a proxy's, where one stands between.
        caller: the caller, where the guard has authenticated the request already, as before its body is read.
        content: returns the content as plain values, for an audit that records it.
        session: the releases that the caller has seen, and is answered from.
        begun: when its time began, on the clock of `time.monotonic`; None for when it is admitted.
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
    content: Callable[[], Mapping[str, Any]] | None = None
    session: ReleaseSession = field(default_factory=ReleaseSession)
    begun: float | None = None


@dataclass(slots=True)
class RequestOutcome:
    """Outcome of a request that was answered or refused. Constant.

    Attributes:
        caller: the caller; None where authentication failed.
        seconds: from the request's arrival to its answer.
        reason: ``OK``, ``CANCELLED``, or the reason of the error in `cuihop.remote.statuses`.
        tier: the part of the service that answered; None for none.
        digest: of the release that answered.
        detail: the error's message; of a fault, only its type.
    """

    info: RequestInfo
    caller: Caller | None
    seconds: float
    reason: str
    tier: str | None = None
    digest: str | None = None
    detail: str = ""


class Guard(Protocol):
    """Authentication and rates. Called in the event loop: a check that has to wait returns an awaitable."""

    def caller(self, info: RequestInfo) -> Caller | Awaitable[Caller]:
        """The authenticated caller.

        Raises:
            NotAuthenticated: no credentials, or none that are valid.
            RateLimited: too many invalid ones.
            GraphUnavailable: they cannot be verified at the moment.
        """

    def admit(self, caller: Caller, info: RequestInfo) -> Awaitable[None] | None:
        """Count the request against the caller's rate: `RateLimited`, or `LimitExceeded` if it is too large for it."""

    def waits(self, info: RequestInfo) -> bool:
        """True where `caller` or `admit` may return an awaitable for this request."""


class Observer:
    """Recipient of the beginning and the outcome of each request; this one records nothing."""

    def started(self, info: RequestInfo) -> Any:
        """Note the arrival of a request. The value returned is handed to `finished`."""

    def finished(self, outcome: RequestOutcome, token: Any) -> None:
        """Note the outcome of a request, answered or refused."""

    def waiting(self, running: int, waiting: int) -> None:
        """Note the numbers of requests being answered, and of those that wait."""


class Observers(Observer):
    """Several observers as one, the outermost first. The failure of one is logged, and has no other effect."""

    def __init__(self, *observers: Observer) -> None:
        self._started = [None if type(o).started is Observer.started else o.started for o in observers]
        self._finished = [observer.finished for observer in reversed(observers)]
        self._waiting = [o.waiting for o in observers if type(o).waiting is not Observer.waiting]

    def started(self, info: RequestInfo) -> Sequence[Any]:
        """Call each that notes it, and collect their tokens."""
        return [None if started is None else _logged(started, info) for started in self._started]

    def finished(self, outcome: RequestOutcome, token: Any) -> None:
        """Call each with its own token."""
        for finished, own in zip(self._finished, reversed(token), strict=True):
            _logged(finished, outcome, own)

    def waiting(self, running: int, waiting: int) -> None:
        """Call each that notes it."""
        for note in self._waiting:
            _logged(note, running, waiting)


def _logged(call: Callable[..., T], *arguments: Any) -> T | None:
    """The result of a call of an observer; ``None``, and a line in the log, where it fails."""
    try:
        return call(*arguments)
    except Exception:
        _log.exception("an observer failed")
        return None


class _ObservedRequest:
    """Report of one request to the observer: the ``with`` block is its beginning and its end."""

    __slots__ = ("_answer", "_begun", "_info", "_observer", "_token", "caller")

    def __init__(self, observer: Observer, info: RequestInfo, begun: float | None = None) -> None:
        self._observer = observer
        self._info = info
        self._begun = time.perf_counter() if begun is None else begun
        self._answer: Answer[Any] | None = None
        self._token = observer.started(info)
        self.caller: Caller | None = None

    def answered(self, context: RequestContext, answer: T) -> T:
        """Note the tier and the release of an answer, and return it."""
        self._answer = answer if isinstance(answer, Answer) else context.answer
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        reason, tier, digest, detail = "OK", None, None, ""
        if error is None:
            if self._answer is not None:
                tier, digest = self._answer.tier, self._answer.digest
        elif isinstance(error, CuihopError):
            reason, detail = "CANCELLED" if isinstance(error, Cancelled) else status_of(error).reason, str(error)
        elif isinstance(error, asyncio.CancelledError):
            reason = "CANCELLED"
        else:
            reason, detail = "INTERNAL", type(error).__name__  # its message may repeat the request
        spent = time.perf_counter() - self._begun
        outcome = RequestOutcome(self._info, self.caller, spent, reason, tier, digest, detail)
        self._observer.finished(outcome, self._token)


class Admission:
    """Admits requests and runs their work: quick work at once, the rest in a bounded pool of threads.

    Args:
        catch_up: waits until the release is as new as a caller has seen, for a number of seconds at most; None for no
            wait.
        name_concepts: adds concepts to an error about names in place of identifiers, in a thread.

    Attributes:
        running: requests in the threads at this moment.
    """

    def __init__(
        self,
        limits: Limits,
        guard: Guard,
        observer: Observer | None = None,
        catch_up: Callable[[Activation, float], Awaitable[None]] | None = None,
        name_concepts: Callable[[ConceptError, RequestContext], None] | None = None,
    ) -> None:
        self._catch_up = catch_up
        self._name_concepts = name_concepts
        self._catching_up = 0
        self.limits = limits
        self.guard = guard
        self.observer: Observer = observer or Observer()
        self._pool = ThreadPoolExecutor(limits.running, thread_name_prefix="answer")
        self._room = asyncio.Semaphore(limits.running)
        self._turns_held = 0
        self._turns: list[tuple[float, asyncio.Future[None]]] = []
        self.running = 0
        self._waiting = 0
        self._under_way: set[RequestContext] = set()

    async def identified(self, info: RequestInfo) -> Caller:
        """The caller, before the request's body is read. A refusal is reported like any other outcome.

        Raises:
            NotAuthenticated, RateLimited, GraphUnavailable: see `Guard.caller`.
        """
        begun = time.perf_counter()
        try:
            identity = self.guard.caller(info)
            return identity if isinstance(identity, Caller) else await identity
        except CuihopError:
            with _ObservedRequest(self.observer, info, begun):
                raise

    async def allowed(self, info: RequestInfo) -> Caller:
        """Authenticate a caller and check the scope, before the request's body is read. Refusals are reported.

        Raises:
            NotAuthenticated, RateLimited, GraphUnavailable: see `Guard.caller`.
            NotAllowed: the scope is missing.
        """
        caller = info.caller or await self.identified(info)
        if not caller.may(info.scope):
            with _ObservedRequest(self.observer, info) as observed:
                observed.caller = caller
                caller.check(info.scope)
        return caller

    def turn_at_once(self, most: int) -> bool:
        """Take the turn of a large request, until `end_turn`, to be parsed and answered. False if ``most`` have one."""
        free = self._turns_held < most
        self._turns_held += free
        return free

    async def turn_of(self, info: RequestInfo, indexed: bool) -> Callable[[], None]:
        """Take the turn of a large request before it is parsed: an answer that comes too late is lost work.

        One that is read, computed or sent slowly keeps no turn. From an index, answers take the processor alone: few at
        a time leave the interpreter to those who read.

        Returns:
            What ends the turn, if nothing has ended it yet.

        Raises:
            QueryTimedOut: see `turn`.
        """
        running = self.limits.running
        seconds, begun = info.seconds, info.begun
        late = seconds is not None and begun is not None and time.monotonic() > begun + seconds
        if late or not self.turn_at_once(min(running, 4 * cores()) if indexed else running):
            await self.turn(info)
        held = [True]

        def leave() -> None:
            if held:
                held.clear()
                self.end_turn()

        asyncio.get_running_loop().call_later(_LONG_SECONDS, leave)
        return leave

    async def turn(self, info: RequestInfo) -> None:
        """Wait for the turn of a large request.

        The oldest is next. Once it has spent half of its time, the newest is: else all would be answered, and too late.

        Raises:
            QueryTimedOut: its time was over before. This is reported like any other outcome.
        """
        context, seconds = self._context(ANONYMOUS, info), self._seconds(info)
        begun = time.perf_counter()
        turn = asyncio.get_running_loop().create_future()
        waiting = context.ends - seconds / 2, turn
        self._turns.append(waiting)
        self._report_waiting()
        try:
            async with asyncio.timeout(context.remaining):
                await turn
        except BaseException as error:
            with suppress(ValueError):
                self._turns.remove(waiting)
            self._report_waiting()
            if turn.done() and not turn.cancelled():  # it came at the same moment
                self.end_turn()
            with _ObservedRequest(self.observer, info, begun) as observed:
                observed.caller = info.caller
                if isinstance(error, TimeoutError):
                    raise QueryTimedOut("the service was too busy to begin in time") from None
                raise

    def end_turn(self) -> None:
        """Give the turn to another request."""
        while self._turns:
            turn = self._turns.pop(0 if time.monotonic() < self._turns[0][0] else -1)[1]
            if not turn.done():  # its time is not over
                turn.set_result(None)
                return
        self._turns_held -= 1

    def at_once(self, info: RequestInfo, task: Callable[[RequestContext], T]) -> T:
        """The answer to a quick request, without a turn of the event loop. `Guard.waits` must be False for it."""
        with _ObservedRequest(self.observer, info) as observed:
            caller = self.guard.caller(info)
            if not isinstance(caller, Caller):
                raise TypeError("the guard waits, and said that it would not")
            observed.caller = caller
            caller.check(info.scope)
            if self.guard.admit(caller, info) is not None:
                raise TypeError("the guard waits, and said that it would not")
            context = self._context(caller, info)
            return observed.answered(context, task(context))

    async def answer(self, info: RequestInfo, task: Callable[[RequestContext], T]) -> T:
        """The answer of ``task``, once the request is admitted; an error of either, or a `QueryTimedOut`."""
        context: RequestContext | None = None
        try:
            with _ObservedRequest(self.observer, info) as observed:
                caller = info.caller
                if caller is None:
                    identity = self.guard.caller(info)
                    caller = identity if isinstance(identity, Caller) else await identity
                observed.caller = caller
                caller.check(info.scope)
                admitted = self.guard.admit(caller, info)
                if admitted is not None:
                    await admitted
                context = self._context(caller, info)
                if info.session.seen is not None:
                    await self._caught_up(info.session.seen, context)
                return observed.answered(context, task(context) if info.quick else await self._in_thread(task, context))
        except ConceptError as error:
            name_concepts = None if self._room.locked() else self._name_concepts  # the error does not wait for room
            if context is not None and name_concepts is not None and any(map(may_be_name, error.cuis[:MOST_TEXTS])):
                fresh = RequestContext(context.caller, context.ends, session=context.session, compiled=context.compiled)
                with suppress(CuihopError):  # the error itself is the answer
                    await self._in_thread(partial(name_concepts, error), fresh)
            raise

    def _context(self, caller: Caller, info: RequestInfo) -> RequestContext:
        begun = time.monotonic() if info.begun is None else info.begun
        return RequestContext(caller, begun + self._seconds(info), session=info.session)

    def _seconds(self, info: RequestInfo) -> float:
        return self.limits.seconds if info.seconds is None else min(info.seconds, self.limits.seconds)

    async def _caught_up(self, seen: Activation, context: RequestContext) -> None:
        """Wait for a release that is not older than one the caller has seen, where there is room to wait."""
        if self._catch_up is None or self._catching_up >= self.limits.waiting:
            return
        self._catching_up += 1
        try:
            await self._catch_up(seen, context.remaining)
        finally:
            self._catching_up -= 1

    async def _in_thread(self, task: Callable[[RequestContext], T], context: RequestContext) -> T:
        """The answer of ``task`` in a thread, which stops between two blocks of its work once the caller has gone."""
        if self._room.locked() and self._waiting >= self.limits.waiting:
            raise RateLimited(
                f"{self.running:,} requests are being answered and {self._waiting:,} wait; ask again in a moment",
                retry_after=1.0,
            )
        if self._room.locked():
            self._waiting += 1
            self._report_waiting()
            try:
                await asyncio.wait_for(self._room.acquire(), context.remaining)
            except TimeoutError:
                raise QueryTimedOut("the service was too busy to begin in time") from None
            finally:
                self._waiting -= 1
        else:
            await self._room.acquire()  # at once
        self.running += 1
        self._under_way.add(context)
        self._report_waiting()
        loop = asyncio.get_running_loop()
        answer = loop.create_future()  # `run_in_executor`, `shield` and `timeout` would take twice as long

        def leave(value: T | None, error: BaseException | None) -> None:
            loop.call_soon_threadsafe(self._leave, context, answer, value, error)

        def end_late() -> None:
            if answer.done():
                return
            if (left := context.remaining) > _NEARLY:  # code was compiled meanwhile
                loop.call_later(left, end_late)
            else:
                answer.set_exception(QueryTimedOut("the answer took longer than allowed"))

        self._pool.submit(contextvars.copy_context().run, _interruptible, task, context, leave)
        overdue = loop.call_later(context.remaining, end_late)
        try:
            value: T = await answer
            return value
        finally:
            overdue.cancel()
            context.cancelled = True

    def _leave(
        self, context: RequestContext, answer: asyncio.Future[Any], value: Any, error: BaseException | None
    ) -> None:
        """Note the end of work in a thread, in the event loop. Not earlier: an abandoned thread still takes room."""
        self._under_way.discard(context)
        self.running -= 1
        self._room.release()
        self._report_waiting()
        if answer.done():
            return  # abandoned: it may fail in silence
        if error is None:
            answer.set_result(value)
        else:
            answer.set_exception(error)

    def _report_waiting(self) -> None:
        self.observer.waiting(self.running, self._waiting + len(self._turns))

    def close(self) -> None:
        """Stop the work under way at its next check of the deadline, and end the threads."""
        for context in self._under_way:
            context.cancelled = True
        self._pool.shutdown(wait=False)  # work that has not begun ends at its first check

    async def idle(self, seconds: float) -> bool:
        """Wait until all threads are idle, at most for these seconds. True where they are."""
        ends = time.monotonic() + seconds
        while self.running and time.monotonic() < ends:
            await asyncio.sleep(0.01)
        return not self.running


def _interruptible(
    task: Callable[[RequestContext], T],
    context: RequestContext,
    leave: Callable[[T | None, BaseException | None], object],
) -> None:
    """Call ``leave`` with the answer of ``task``, or with its error.

    `cuihop.resources.progress` stops the work once it is overdue, or the caller has gone.
    """
    try:
        with interrupted_by(context.check):
            context.check()
            value = task(context)
    except BaseException as error:
        leave(None, error)
    else:
        leave(value, None)
