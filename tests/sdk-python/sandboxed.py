"""A workflow that is run in the SDK's sandbox; it lies alone, for the sandbox imports its file."""

from temporalio import workflow


@workflow.defn
class Plain:
    @workflow.run
    async def run(self, name: str) -> str:
        return f"hello {name}"
