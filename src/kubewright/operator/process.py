"""An operator as a process: the only place that touches signals, log handlers, the garbage collector and uvloop."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import random
import signal
import socket
import sys
import uuid
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kubewright.client import Client
from kubewright.config import Config
from kubewright.errors import KubewrightError
from kubewright.metrics import Registry
from kubewright.operator.crds import install_crds
from kubewright.operator.health import parse_address, serving_health
from kubewright.operator.logs import set_up_logs
from kubewright.operator.running import RunningOperator, Terms
from kubewright.operator.settings import Settings, add_flags
from kubewright.operator.watchdog import watching_the_loop

if TYPE_CHECKING:
    from kubewright.operator.blueprint import Blueprint

__all__ = ["run", "serve", "settings_of_process"]

_log = logging.getLogger("kubewright.operator")

_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


def settings_of_process(name: str) -> Settings:
    """The settings that this process was started with: flags, environment, file."""
    import argparse

    parser = argparse.ArgumentParser(prog=name, description=f"Run the operator {name}.")
    add_flags(parser)
    return Settings.load(vars(parser.parse_args()), os.environ)


def run(operator: Blueprint, settings: Settings | None = None, client: Callable[[], Client] | None = None) -> None:
    """Run the operator until SIGINT or SIGTERM; a second one ends at once. Exits with 1 if it cannot run."""
    try:
        settings = settings or settings_of_process(operator.name)
        set_up_logs(settings.log_format, settings.log_level)
        make_client = client or (lambda: Client(_config(settings)))
        _run_loop(lambda: serve(operator, settings, make_client), settings.uvloop)
    except KubewrightError as error:
        sys.stderr.write(f"{operator.name}: {error}\n")
        raise SystemExit(1) from None


def _run_loop(main: Callable[[], Coroutine[Any, Any, None]], with_uvloop: bool) -> None:
    factory = _uvloop_factory() if with_uvloop else None
    # What was imported lives as long as the process: the collector need not look at it again and again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main())


def _uvloop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def _config(settings: Settings) -> Config:
    return Config.load(kubeconfig=settings.kubeconfig, context=settings.context)


async def serve(operator: Blueprint, settings: Settings, make_client: Callable[[], Client]) -> None:
    """Run the operator with everything a process has, until a signal or its own end."""
    inside = _ACCOUNT.exists()
    leads = settings.leader_election if settings.leader_election is not None else inside
    identity = (settings.identity or f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}") if leads else None
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(make_client())
        if settings.install_crds:
            await install_crds(client, operator)
        stack.enter_context(watching_the_loop(settings.blocked_after))
        changed = _with(operator, settings)
        terms = Terms(identity=identity, lease_namespace=settings.lease_namespace or client.namespace)
        life = RunningOperator(changed, client, terms, Registry(), random.Random())
        running = await stack.enter_async_context(life)
        listen = settings.listen or (":8080" if inside else "off")
        if listen != "off":
            host, port = await stack.enter_async_context(serving_health(running, *parse_address(listen)))
            _log.info("metrics and health are served at http://%s:%d", host, port)
        await _until_told(running)
        _log.info("ending: reconciles may finish within %s", changed.grace)


def _with(operator: Blueprint, settings: Settings) -> Blueprint:
    """The operator as the settings want it."""
    import copy

    changed = copy.copy(operator)
    if settings.namespaces is not None:
        changed.namespaces = settings.namespaces
    if settings.grace is not None:
        changed.grace = settings.grace
    return changed


async def _until_told(running: RunningOperator) -> None:
    """Return at the first signal, or when the operator ends by itself; the second signal ends the process."""
    loop = asyncio.get_running_loop()
    told = asyncio.Event()

    def on_signal(number: signal.Signals) -> None:
        if told.is_set():
            os._exit(128 + number)
        _log.info("%s: ending; once more to end at once", number.name)
        told.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal, number)
    waiter = asyncio.create_task(told.wait(), name="signal")
    life = asyncio.create_task(running.wait(), name="life")
    done, _ = await asyncio.wait({waiter, life}, return_when=asyncio.FIRST_COMPLETED)
    for task in (waiter, life):
        task.cancel()
    await asyncio.gather(waiter, life, return_exceptions=True)
    if life in done:
        life.result()
