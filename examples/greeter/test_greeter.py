"""The smallest operator, in virtual time on an API server in this process."""

from greeter import Greeting, GreetingSpec, operator

from kubewright import Metadata
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import running, virtual_time


@virtual_time()
async def test_a_card_follows_its_greeting() -> None:
    async with running(operator) as cluster:
        await cluster.client.create(Greeting(metadata=Metadata(name="hello"), spec=GreetingSpec(text="hi")))
        await cluster.wait_until(ConfigMap, "hello", lambda card: card.data == {"text": "hi"})
        await cluster.client.modify(Greeting, "hello", lambda greeting: setattr(greeting.spec, "text", "bye"))

        card = await cluster.wait_until(ConfigMap, "hello", lambda card: card.data == {"text": "bye"})

        assert card.controller_reference is not None
        assert card.controller_reference.kind == "Greeting"


@virtual_time()
async def test_a_card_that_somebody_spoilt_is_repaired() -> None:
    async with running(operator) as cluster:
        await cluster.client.create(Greeting(metadata=Metadata(name="hello"), spec=GreetingSpec(text="hi")))
        await cluster.wait_until(ConfigMap, "hello", lambda card: card.data == {"text": "hi"})
        await cluster.client.modify(ConfigMap, "hello", lambda card: card.data.update(text="spoilt"))

        await cluster.wait_until(ConfigMap, "hello", lambda card: card.data == {"text": "hi"})
