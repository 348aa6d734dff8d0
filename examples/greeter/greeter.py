from kubewright import Context, Controller, Metadata, Model, Operator, Resource
from kubewright.kinds.core_v1 import ConfigMap


class GreetingSpec(Model):
    text: str


class Greeting(Resource, group="demo.example.com", version="v1"):
    spec: GreetingSpec


async def reconcile(greeting: Greeting, ctx: Context) -> None:
    card = ConfigMap(metadata=Metadata(name=greeting.name), data={"text": greeting.spec.text})
    await ctx.apply(card)


operator = Operator("greeter", [Controller(Greeting, reconcile, owns=[ConfigMap])])

if __name__ == "__main__":
    operator.run()
