"""Records spans of two real frameworks, with a fake model and a retriever in memory, as OTLP JSON.

Turns, answers and passages are those of ``tests/stages/otlp_spans.py``. What lies beside it was
recorded in November 2026 with langchain-core 1.7.2, llama-index-core 0.14.25,
openinference-instrumentation-langchain 0.1.80, openinference-instrumentation-llama-index 4.6.1, and
opentelemetry-sdk and opentelemetry-exporter-otlp-proto-common 1.45.2. These are in no lock of ours,
so no test runs it:

    python tests/data/otlp/record_spans.py tests/data/otlp
"""

from __future__ import annotations

import json
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.llms.custom import CustomLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever as IndexRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from openinference.instrumentation import using_attributes
from openinference.instrumentation.langchain import LangChainInstrumentor
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

TURNS = 12


def question(n: int) -> str:
    return f"How many months does the warranty of item {n} last?"


def answer(n: int) -> str:
    months = n + 12 if n % 3 else n + 13
    return f"The warranty of item {n} lasts {months} months."


def passages(n: int) -> list[tuple[str, str]]:
    return [
        (f"kb-{n}#1", f"Item {n} has a warranty of {n + 12} months."),
        (f"kb-{n}#2", "Returning an item costs 5 euros."),
    ]


class MemoryRetriever(BaseRetriever):
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        n = int(query.split()[8])
        return [Document(page_content=text, id=name) for name, text in passages(n)]


def joined(found: list[Document]) -> str:
    return "\n".join(each.page_content for each in found)


class IndexMemoryRetriever(IndexRetriever):
    def _retrieve(self, query: QueryBundle) -> list[NodeWithScore]:
        n = int(query.query_str.split()[8])
        return [
            NodeWithScore(node=TextNode(text=text, id_=name), score=1.0 / k)
            for k, (name, text) in enumerate(passages(n), 1)
        ]


class OneAnswer(CustomLLM):
    said: str = ""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="fake-one")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.said)

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        yield CompletionResponse(text=self.said, delta=self.said)


def provider(service: str) -> tuple[TracerProvider, InMemorySpanExporter]:
    resource = Resource.create({"service.name": service, "service.version": "7"})
    made = TracerProvider(resource=resource)
    exporter = InMemorySpanExporter()
    made.add_span_processor(SimpleSpanProcessor(exporter))
    return made, exporter


def langchain() -> InMemorySpanExporter:
    made, exporter = provider("langchain-bot")
    LangChainInstrumentor().instrument(tracer_provider=made)
    prompt = ChatPromptTemplate.from_template("Answer from:\n{context}\n\nQuestion: {question}")
    for n in range(TURNS):
        chain = (
            {
                "context": MemoryRetriever() | joined,
                "question": RunnablePassthrough(),
            }
            | prompt
            | FakeListChatModel(responses=[answer(n)])
            | StrOutputParser()
        )
        with using_attributes(
            session_id=f"s-{n % 4}",
            user_id=f"u-{n % 5}",
            tags=["beta"],
            metadata={"tenant": "acme"},
            prompt_template_version="v3",
        ):
            chain.invoke(question(n))
    LangChainInstrumentor().uninstrument()
    return exporter


def llama_index() -> InMemorySpanExporter:
    made, exporter = provider("llama-bot")
    LlamaIndexInstrumentor().instrument(tracer_provider=made)
    for n in range(TURNS):
        model = OneAnswer(said=answer(n))
        engine = RetrieverQueryEngine.from_args(IndexMemoryRetriever(), llm=model)
        with using_attributes(session_id=f"s-{n % 4}", user_id=f"u-{n % 5}"):
            engine.query(question(n))
    LlamaIndexInstrumentor().uninstrument()
    return exporter


def as_collectors_json(exporter: InMemorySpanExporter) -> dict[str, Any]:
    """Ids in hex, as OTLP/JSON wants them and protobuf's own JSON does not."""
    whole = MessageToDict(encode_spans(exporter.get_finished_spans()))
    for resource in whole["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in span:
                        span[name] = b64decode(span[name]).hex()
    return whole


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for name, made in (("langchain", langchain), ("llama_index", llama_index)):
        text = json.dumps(as_collectors_json(made()), ensure_ascii=False)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
