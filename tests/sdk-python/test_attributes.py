"""What is written on a workflow: memo, summaries, search attributes; and finding it by them."""

from datetime import datetime, timezone
from typing import Any

import pytest
from harness import events, unique, until, working
from pieces import Call, Calling, Waiting, fail
from temporalio import workflow
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import (
    AddSearchAttributesRequest,
    ListSearchAttributesRequest,
)
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from temporalio.service import RPCError, RPCStatusCode

TEXT = SearchAttributeKey.for_text("Notes")
KEYWORD = SearchAttributeKey.for_keyword("Customer")
COUNT = SearchAttributeKey.for_int("Items")
PRICE = SearchAttributeKey.for_float("Price")
PAID = SearchAttributeKey.for_bool("Paid")
DUE = SearchAttributeKey.for_datetime("DueAt")
TAGS = SearchAttributeKey.for_keyword_list("Tags")
KINDS = {
    "Notes": IndexedValueType.INDEXED_VALUE_TYPE_TEXT,
    "Customer": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    "Items": IndexedValueType.INDEXED_VALUE_TYPE_INT,
    "Price": IndexedValueType.INDEXED_VALUE_TYPE_DOUBLE,
    "Paid": IndexedValueType.INDEXED_VALUE_TYPE_BOOL,
    "DueAt": IndexedValueType.INDEXED_VALUE_TYPE_DATETIME,
    "Tags": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
}


async def with_attributes(client: Client) -> None:
    """Makes the attributes known; they may be so already."""
    known = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=client.namespace)
    )
    missing = {name: kind for name, kind in KINDS.items() if name not in known.custom_attributes}
    if missing:
        await client.operator_service.add_search_attributes(
            AddSearchAttributesRequest(namespace=client.namespace, search_attributes=missing)
        )


async def found(client: Client, query: str) -> list[str]:
    return sorted([it.id async for it in client.list_workflows(query)])


@workflow.defn
class Marking:
    """Writes on itself."""

    @workflow.run
    async def run(self) -> None:
        workflow.upsert_search_attributes([COUNT.value_set(7), PAID.value_set(True)])
        workflow.upsert_memo({"seen": "by code"})
        await workflow.wait_condition(lambda: self.done)

    def __init__(self) -> None:
        self.done = False

    @workflow.signal
    def finish(self) -> None:
        self.done = True


async def test_search_attributes_of_every_type_are_kept(crash):
    client = await crash.server.client()
    await with_attributes(client)
    due = datetime(2030, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    given = TypedSearchAttributes(
        [
            SearchAttributePair(TEXT, "two words"),
            SearchAttributePair(KEYWORD, "Ann"),
            SearchAttributePair(COUNT, 3),
            SearchAttributePair(PRICE, 1.5),
            SearchAttributePair(PAID, False),
            SearchAttributePair(DUE, due),
            SearchAttributePair(TAGS, ["a", "b"]),
        ]
    )
    handle = await client.start_workflow(
        Waiting.run, id=unique(), task_queue=unique("nobody"), search_attributes=given
    )
    crash.here()
    told = (await handle.describe()).typed_search_attributes
    for pair in given:
        assert told[pair.key] == pair.value, pair.key
    for query in [
        "Customer = 'Ann'",
        "Items > 2 AND Items <= 3",
        "Price BETWEEN 1 AND 2",
        "Paid = false",
        "DueAt > '2029-01-01T00:00:00Z'",
        "Tags IN ('b', 'c')",
        "Notes = 'words'",
        "Customer STARTS_WITH 'A'",
        f"WorkflowId = '{handle.id}' AND ExecutionStatus = 'Running'",
    ]:
        assert await found(client, query) == [handle.id], query
    assert await found(client, "Customer = 'Bob' OR Items < 3") == []


async def test_code_changes_attributes_and_memo(client):
    await with_attributes(client)
    async with working(client, workflows=[Marking]) as queue:
        handle = await client.start_workflow(
            Marking.run, id=unique(), task_queue=queue, memo={"given": [1, 2]}
        )

        async def marked() -> bool:
            return (await handle.describe()).typed_search_attributes.get(COUNT) == 7

        await until("it has written on itself", marked)
        description = await handle.describe()
        assert await description.memo() == {"given": [1, 2], "seen": "by code"}
        assert await found(client, f"Items = 7 AND WorkflowId = '{handle.id}'") == [handle.id]
        await handle.signal(Marking.finish)
        await handle.result()


async def test_workflows_are_counted_and_grouped(server):
    client = await server.client()
    await with_attributes(client)
    async with working(client, workflows=[Waiting]) as queue:
        handles = [
            await client.start_workflow(Waiting.run, id=unique(), task_queue=queue)
            for _ in range(5)
        ]
        for handle in handles[:2]:
            await handle.signal(Waiting.finish)
            await handle.result()
        await handles[2].terminate()
        assert (await client.count_workflows()).count == 5
        assert (await client.count_workflows("ExecutionStatus = 'Running'")).count == 2
        groups = (await client.count_workflows("GROUP BY ExecutionStatus")).groups
        told = {group.group_values[0]: group.count for group in groups}
        assert told == {"Running": 2, "Completed": 2, "Terminated": 1}
        statuses = [it.status async for it in client.list_workflows("ExecutionStatus != 'Running'")]
        assert sorted(it.name for it in statuses) == ["COMPLETED", "COMPLETED", "TERMINATED"]
        assert statuses and all(isinstance(it, WorkflowExecutionStatus) for it in statuses)
        pages = [it.id async for it in client.list_workflows(page_size=2)]
        assert len(pages) == len(set(pages)) == 5


async def test_a_wrong_query_and_an_unknown_attribute_are_told(client):
    for query, word in [("Items >", "query"), ("Nonsense = 3", "Nonsense")]:
        with pytest.raises(RPCError) as refused:
            await found(client, query)
        assert refused.value.status == RPCStatusCode.INVALID_ARGUMENT
        assert word.lower() in refused.value.message.lower()
    unknown = SearchAttributeKey.for_keyword("NobodyKnows")
    with pytest.raises(RPCError) as refused:
        await client.start_workflow(
            Waiting.run,
            id=unique(),
            task_queue="none",
            search_attributes=TypedSearchAttributes([SearchAttributePair(unknown, "x")]),
        )
    assert refused.value.status == RPCStatusCode.INVALID_ARGUMENT
    assert "NobodyKnows" in refused.value.message


async def test_summaries_are_kept(crash):
    client = await crash.server.client()
    async with working(client, workflows=[Calling], activities=[fail]) as queue:
        handle = await client.start_workflow(
            Calling.run,
            Call("fail", 0, summary="charges the card"),
            id=unique(),
            task_queue=queue,
            static_summary="an order",
            static_details="with details",
        )
        await handle.result()
        crash.here()
        description = await handle.describe()
        assert await description.static_summary() == "an order"
        assert await description.static_details() == "with details"
        metadata: Any = [e.user_metadata.summary.data for e in (await handle.fetch_history()).events]
        assert b'"charges the card"' in metadata and b'"an order"' in metadata
        assert await events(handle, "ActivityTaskScheduled")
