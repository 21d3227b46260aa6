"""An MCP server of FastMCP's with one of everything. Not a test itself.

python fastmcp_server.py
"""

from __future__ import annotations

from fastmcp import Context, FastMCP

server = FastMCP("one of everything", instructions="Greets in any language.")


@server.resource("memo://today", name="today", description="what is due today", mime_type="text/markdown")
def today() -> str:
    return "# Today\nnothing, höchstens Tee"


@server.resource("memo://picture", mime_type="image/png")
def picture() -> bytes:
    return b"\x89PNG\r\n"


@server.resource("memo://{person}/{topic}", name="note", description="a note about somebody")
def note(person: str, topic: str) -> str:
    return f"{person} likes {topic}"


@server.prompt(name="greet", description="greets somebody", tags={"polite"})
def greet(name: str, language: str = "English") -> str:
    return f"Greet {name} in {language}."


@server.tool
def shout(text: str) -> str:
    """Says it loudly."""
    return text.upper()


@server.tool
async def ask_model(question: str, ctx: Context) -> str:
    """Has the client's model answer."""
    return f"it said {(await ctx.session.create_message(_messages(question), max_tokens=9)).content.text}"


@server.tool
async def ask_user(ctx: Context) -> str:
    """Asks the user for a name."""
    answer = await ctx.elicit("What is your name?", response_type=str)
    return f"{answer.action}: {getattr(answer, 'data', None)}"


def _messages(text: str) -> list:
    from mcp_types import SamplingMessage, TextContent

    return [SamplingMessage(role="user", content=TextContent(type="text", text=text))]


if __name__ == "__main__":
    server.run(show_banner=False)
