"""One line for each row of docs/core-audit.md without which a test of that row must fail: `make audit-mutate`.

The tests are those that the page names. Rows that are not here are listed on the page, with the reason.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.attacks.mutate import Mutation, play

PAGE = (Path(__file__).parents[2] / "docs" / "core-audit.md").read_text("utf-8")
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split(" | "))
    for line in PAGE.splitlines()
    if line.startswith("| S-")
]

LINES: dict[str, tuple[str, str, str]] = {
    "S-001": ("bot/agent/loop.py", "stop = conversation.run_calls(message)", "stop = None"),
    "S-002": ("bot/providers/assembly.py", "self._calls += 1", "pass"),
    "S-003": (
        "bot/agent/replay.py",
        '_HASHES = ("before_hash", "after_hash", "moved_from")',
        '_HASHES = ("moved_from",)',
    ),
    "S-004": (
        "bot/agent/message_history.py",
        "self._messages: list[Message] = []",
        'self._messages: list[Message] = MessageHistory.__init__.__dict__.setdefault("shared", [])',
    ),
    "S-005": ("bot/providers/assembly.py", "clean(id), clean(name)", "clean(name), clean(name)"),
    "S-006": (
        "bot/agent/toolbox.py",
        "return _crash(call, error)._replace(permission=permission, ran=ran)",
        "raise",
    ),
    "S-007": ("bot/agent/toolbox.py", "if missing:", "if False:"),
    "S-008": (
        "bot/attachments/selector.py",
        "self.images.append(Image(redrawn.media_type,",
        "Image((redrawn.media_type,",
    ),
    "S-009": ("bot/agent/receive.py", "last or Failed(INCOMPLETE,", 'last or Failed("",'),
    "S-010": ("bot/agent/message_history.py", "if not expected or expected != actual:", "if not expected:"),
    "S-011": (
        "bot/agent/finish.py",
        "(FinishReason.MAX_TOKENS, False): StopReason.MAX_TOKENS,",
        "(FinishReason.MAX_TOKENS, False): Step.MAY_END,",
    ),
    "S-012": (
        "bot/agent/conversation.py",
        'message = self._history.add_assistant(partial or Message("assistant", ()), self.turn)',
        'message = partial or Message("assistant", ())',
    ),
    "S-013": (
        "bot/agent/journal.py",
        'return plain if tag is None else {"type": tag, **plain}',
        "return plain",
    ),
    "S-014": (
        "bot/agent/message_history.py",
        "if not 1 < first_kept <= len(self._messages) or (",
        "if False and (",
    ),
    "S-015": (
        "bot/agent/conversation.py",
        "self.context.journal.write(UserText(self.turn, text, origin, tuple(images)))",
        "pass",
    ),
    "S-016": (
        "bot/agent/message_history.py",
        "return _View(self._messages, len(self._messages))",
        "return self._messages",
    ),
    "S-017": (
        "bot/agent/message_history.py",
        "            parts.append(part)",
        '            parts.append(part) if type(part).__name__ != "Thinking" else None',
    ),
    "S-018": ("bot/agent/receive.py", "if self._size >= _UNWRITTEN + FLUSH_CHARACTERS or", "if True or"),
    "S-019": ("bot/agent/toolbox.py", "if not call.complete:", "if False:"),
    "S-020": ("bot/providers/assembly.py", "        if text:", "        if False:"),
    "S-021": (
        "bot/agent/receive.py",
        "except Exception as error:  # noqa: BLE001  An adapter",
        "except ArithmeticError as error:  # An adapter",
    ),
    "S-022": (
        "bot/agent/toolbox.py",
        "close = close or get_close_matches(",
        "close = close and get_close_matches(",
    ),
    "S-023": (
        "bot/agent/arguments.py",
        "for problem in (*checked.problems, *checked.unknown))",
        "for problem in checked.problems[:1])",
    ),
    "S-024": ("bot/agent/toolbox.py", "{type(error).__name__}: {error}{where}", "{where}"),
    "S-025": ("bot/agent/calls.py", "if by_policy and self._context.stop_on_denial:", "if False:"),
    "S-026": (
        "bot/agent/conversation.py",
        "self._size.add(self._history.add_results(results))",
        "[self._history.add_results([result]) for result in results]",
    ),
    "S-027": (
        "bot/agent/finish.py",
        "(FinishReason.END_TURN, True): Step.RUN_CALLS,",
        "(FinishReason.END_TURN, True): Step.MAY_END,",
    ),
    "S-028": ("bot/agent/calls.py", 'prefix = "canceled" if', 'prefix = "Not run" if'),
    "S-029": ("bot/agent/journal.py", "if agent in self._active:", "if False:"),
    "S-030": ("bot/agent/conversation.py", "self.context.hooks.turn_done(info)", "pass"),
    "S-031": ("bot/agent/finish.py", "used.requests >= limits.turns:", "used.requests > limits.turns:"),
    "S-032": (
        "bot/agent/finish.py",
        "if limits.minutes is not None and seconds >= limits.minutes * 60:",
        "if False:",
    ),
    "S-033": (
        "bot/agent/message_history.py",
        "self._replace([self._messages[0], Message(",
        "self._replace([Message(",
    ),
    "S-034": ("bot/agent/toolbox.py", "return _error(call, TRUNCATED)", "pass"),
    "S-035": ("bot/agent/conversation.py", "context.hooks.request_sent(self.turn)", "pass"),
    "S-036": (
        "bot/agent/toolbox.py",
        "return alike[0] if len(alike) == 1 else None",
        "return alike[0] if alike else self.specs[0]",
    ),
    "S-037": (
        "bot/agent/conversation.py",
        "if self._reminders < MAX_REMINDERS else None",
        "if self._reminders < 9 else None",
    ),
    "S-038": ("bot/providers/encoding.py", "entries.append(entry[1])", "entries.insert(0, entry[1])"),
    "S-039": (
        "bot/agent/journal.py",
        "redacted = self._redact(text) if text else text",
        "redacted = text",
    ),
    "S-040": (
        "bot/agent/conversation.py",
        "for text in self.context.hooks.after_results(info):",
        "for text in ():",
    ),
    "S-041": ("bot/providers/streaming.py", "yield from reader.read(", "reader.read("),
    "S-042": ("bot/agent/receive.py", "            retrying(event)", "            pass"),
    "S-043": ("bot/providers/models.py", "    if info.known:", "    if True:"),
    "S-044": (
        "bot/providers/anthropic_messages.py",
        '"input_schema": dict(spec.parameters),',
        '"input_schema": {"type": "object"},',
    ),
    "S-045": (
        "bot/providers/openai_chat.py",
        'return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))',
        'return ""',
    ),
    "S-046": (
        "bot/providers/encoding.py",
        'if not isinstance(value, dict) or value.get("by") != writer:',
        "if not isinstance(value, dict):",
    ),
    "S-047": (
        "bot/providers/streaming.py",
        "paused = complete.raw_reason == _PAUSED and not complete.message.calls",
        "paused = False",
    ),
    "S-048": ("bot/providers/anthropic_messages.py", "if role == last_role:", "if False:"),
    "S-049": ("bot/providers/anthropic_messages.py", "        if not blocks:", "        if False:"),
    "S-050": (
        "bot/session/job/resume.py",
        "recorded.header.system, recorded.header.tools, _notes(",
        "now.system, now.tools, _notes(",
    ),
    "S-051": (
        "bot/providers/anthropic_messages.py",
        'start = _ASSISTANT if message.role == "assistant" else _USER',
        'start = _USER if message.role == "user" else _ASSISTANT',
    ),
    "S-052": (
        "bot/providers/anthropic_messages.py",
        "return self._image(part)",
        'return {"type": "text", "text": unseen(part)}',
    ),
    "S-053": ("bot/agent/repair.py", "self._dropped += sum(map(len, self._results.values()))", "pass"),
    "S-054": (
        "bot/providers/openai_chat.py",
        'count(prompt.get("cached_tokens"), old.cache_read)',
        'count(prompt.get("cached_tokens"))',
    ),
    "S-055": (
        "bot/providers/streaming.py",
        "            assembly = Assembly(self._wire.writer)",
        "            pass",
    ),
    "S-056": (
        "bot/toolhost/matching.py",
        "spans = _disjoint(match.spans) if everywhere",
        "spans = match.spans if everywhere",
    ),
    "S-057": ("bot/toolhost/tools/edit.py", "if before.lf:", "if False:"),
    "S-058": (
        "bot/toolhost/matching.py",
        'new.replace("\\n", ending)]',
        'new.replace("\\n", ending) or content[start:end]]',
    ),
    "S-059": (
        "bot/toolhost/matching.py",
        "at = text.find(wanted, at + 1)",
        "at = text.find(wanted, at + len(wanted))",
    ),
    "S-060": ("bot/toolhost/freshness.py", "    if record.sha256 == file.sha256:", "    if True:"),
    "S-061": ("bot/toolhost/tools/edit.py", "if len(match.spans) > 1 and not everywhere:", "if False:"),
    "S-062": ("bot/toolhost/commit.py", "        _check_unmoved(context, proposal)", "        pass"),
    "S-063": ("bot/toolhost/patch/grammar.py", 'if sign in " +-":', 'if sign in " +":'),
    "S-064": (
        "bot/toolhost/patch/overlay.py",
        "raise PatchError(sorted(self._problems, key=lambda problem: problem.line),",
        "raise PatchError(self._problems[:1],",
    ),
    "S-065": ("bot/toolhost/patch/locate.py", "THRESHOLD = 3", "THRESHOLD = 30"),
    "S-066": (
        "bot/toolhost/commit.py",
        "    _ask(context, tool, proposals)",
        "    [_ask(context, tool, [one]) for one in proposals]",
    ),
    "S-067": (
        "bot/toolhost/tools/write.py",
        'content = text_argument(arguments, "content")',
        'content = text_argument(arguments, "content") or "\\n"',
    ),
    "S-068": (
        "bot/toolhost/tools/write.py",
        "if before and after.content == before.text.content:",
        "if False:",
    ),
    "S-069": (
        "bot/toolhost/commit.py",
        '"before_hash": change.before.sha256 if change.before else None,',
        '"before_hash": None,',
    ),
    "S-070": ("bot/toolhost/diff.py", '_NO_END = "\\n\\\\ No newline at end of file"', '_NO_END = ""'),
    "S-071": (
        "bot/toolhost/files.py",
        'path.startswith(folder.rstrip("/") + "/")',
        "path.startswith(folder)",
    ),
    "S-072": ("bot/toolhost/commit.py", "    if not answer.allow:", "    if False:"),
    "S-073": (
        "bot/policy/matching.py",
        "return max(filter(None, matches), key=lambda one: one[0].effect.rank, default=None)",
        "return next(filter(None, matches), None)",
    ),
    "S-074": ("bot/toolhost/commit.py", "answer.reason or f", "False or f"),
    "S-075": (
        "bot/toolhost/file_history.py",
        "if not known or known[-1].sha256 != change.before.sha256:",
        "if not known:",
    ),
    "S-076": ("bot/toolhost/lsp/report.py", "if not change.new:", "if True:"),
    "S-077": ("bot/toolhost/patch/overlay.py", "if known is not None:", "if False:"),
    "S-078": (
        "bot/toolhost/transaction.py",
        "key=lambda step: step.after is None)",
        "key=lambda step: 0)",
    ),
    "S-079": (
        "bot/policy/rule.py",
        "if line.startswith(_HEADERS))",
        "if line.lstrip('+- ').startswith(_HEADERS))",
    ),
    "S-080": ("bot/toolhost/transaction.py", "                folder.rmdir()", "                pass"),
    "S-081": (
        "bot/toolhost/tools/view.py",
        "view_call(name, window.last + 1)",
        "view_call(name, window.last + 2)",
    ),
    "S-082": ("bot/toolhost/files.py", "cutoff=0.6)", "cutoff=1.0)"),
    "S-083": ("bot/toolhost/text.py", 'b"\\0" in head[:SNIFF]', 'b"\\0" in head[:16]'),
    "S-084": ("bot/toolhost/tools/view.py", "lf, ((first, window.last),))", "lf, ((1, window.total),))"),
    "S-085": (
        "bot/agent/calls.py",
        "if earlier == content and len(content) > MIN_CACHED_LENGTH:",
        "if False:",
    ),
    "S-086": ("bot/toolhost/tools/ls.py", "    if left_out:", "    if False:"),
    "S-087": (
        "bot/toolhost/tools/glob.py",
        "return -os.lstat(start + name).st_mtime_ns, name",
        "return os.lstat(start + name).st_mtime_ns, name",
    ),
    "S-088": ("bot/toolhost/search.py", '            "-z",', ""),
    "S-089": ("bot/toolhost/tools/bash.py", '"exit_code": ended.exit_code,', '"exit_code": 0,'),
    "S-090": (
        "bot/session/context/profiles.py",
        'SHELL_TOOLS = (SHELL, "bash_output", "bash_kill")',
        "SHELL_TOOLS = (SHELL,)",
    ),
    "S-091": (
        "bot/toolhost/files.py",
        "return _resolve(context, path, ())",
        'return _resolve(context, path, (Path("/"),))',
    ),
    "S-092": ("bot/toolhost/output.py", "_HEAD_SHARE = 0.3", "_HEAD_SHARE = 0.7"),
    "S-093": (
        "bot/policy/shell.py",
        "return ShellCommand(_simple_commands(root, command), seen)",
        "return ShellCommand(None, ())",
    ),
    "S-094": (
        "bot/toolhost/tools/write.py",
        "size = len(encode(after,",
        "size = len(after.content) or len(encode(after,",
    ),
    "S-095": ("bot/agent/toolbox.py", 'The tools are: {", ".join(self._specs)}.', "There are others."),
    "S-097": (
        "bot/agent/prompts/fix.md",
        "You are Slash Agent, a software engineer",
        "You are Slash Agent, an engineer",
    ),
    "S-098": (
        "bot/agent/prompts/parts/changing.md",
        "and say why instead.",
        "",
    ),
    "S-099": ("bot/agent/prompts/parts/work.md", "Look before you conclude", "Conclude"),
    "S-100": (
        "bot/agent/prompt.py",
        "return Template(text).substitute(values)",
        "return Template(text).safe_substitute(values)",
    ),
    "S-101": ("bot/agent/prompts/parts/checking.md", "Never commit, push or switch branches", "Never push"),
    "S-102": (
        "bot/agent/prompts/parts/trust.md",
        "Be brief: at most a sentence before a step.",
        "Explain each step.",
    ),
    "S-103": (
        "bot/session/context/briefing.py",
        'key=lambda folder: (-folder.count("/"), folder)',
        'key=lambda folder: (folder.count("/"), folder)',
    ),
    "S-104": ("bot/agent/prompts/parts/work.md", "Make the smallest change", "Make any change"),
    "S-105": ("bot/agent/prompts/parts/trust.md", "Be brief", "Be brief, really brief. " * 150),
    "S-106": (
        "bot/agent/todo.py",
        'return "\\n".join([*lines, count.format(done, len(items))])',
        'return "\\n".join(lines)',
    ),
    "S-108": (
        "bot/agent/message_history.py",
        "self._messages.append(message)",
        "self._messages.insert(0, message)",
    ),
    "S-109": (
        "bot/agent/conversation.py",
        "            messages,\n            tool_choice=",
        "            messages[:1],\n            tool_choice=",
    ),
    "S-110": (
        "bot/agent/conversation.py",
        "        return self._end_or_remind()",
        '        return Stop(StopReason.END_TURN, "")',
    ),
    "S-111": (
        "bot/agent/conversation.py",
        "self.context.journal.write(RecalledMessage(added.role, added.parts))",
        "pass",
    ),
    "S-112": (
        "bot/session/context/profiles.py",
        'tools = READING if commands == "none" else (*READING, *SHELL_TOOLS)',
        "tools = (*READING, *WRITING)",
    ),
    "S-113": ("bot/providers/assembly.py", "block.pieces.append(text)", "pass"),
    "S-114": (
        "bot/agent/subagents.py",
        'AgentType("explore", "agent_explore", True,',
        'AgentType("explore", "agent_explore", False,',
    ),
    "S-115": ("bot/agent/subagents.py", '"enum": [one.name for one in types]},', "},"),
    "S-116": (
        "bot/agent/subagents.py",
        "return self._outcome(name, run_loop(context, prompt))",
        "return self._outcome(name, run_loop(context, str(arguments)))",
    ),
    "S-117": ("bot/session/tools/subagents.py", "aids=(), read_only=True", "aids=(TODO,), read_only=True"),
    "S-118": ("bot/agent/subagents.py", "is_error=not finished,", "is_error=False,"),
    "S-119": (
        "bot/toolhost/serve.py",
        'self._records.setdefault(message.get("agent", ""), Records())',
        'self._records.setdefault("", Records())',
    ),
    "S-120": (
        "bot/agent/conversation.py",
        "self.session_usage = context.shared_usage or SessionUsage()",
        "self.session_usage = SessionUsage()",
    ),
    "S-121": (
        "bot/session/tools/subagents.py",
        "return replace(profile, results=(), aids=(TODO,))",
        "return replace(profile, tools=(), results=(), aids=(TODO,))",
    ),
    "S-122": (
        "bot/agent/calls.py",
        "            results.append(result)",
        "            results.insert(0, result)",
    ),
    "S-123": ("bot/report/build_timeline.py", "self._result(record, at)", "pass"),
    "S-124": (
        "bot/agent/prompt.py",
        "(_read(alternative) if missing and alternative.exists() else text)",
        "(text)",
    ),
    "S-125": ("bot/agent/todo.py", "if self._rounds_since_update < REMINDER_ROUNDS:", "if True:"),
    "S-126": ("bot/agent/conversation.py", "self.context.hooks.turn_done(info)", "pass"),
    "S-127": ("bot/skills/tool.py", "return [text for text in pending.values() if text]", "return []"),
    "S-128": (
        "bot/session/tools/skills.py",
        "return self.tool.after_results() if self.tool else []",
        "return []",
    ),
    "S-129": ("bot/skills/tool.py", "key=lambda skill: skill.name)", "key=lambda skill: 0)"),
    "S-130": (
        "bot/session/tools/skills.py",
        "return replace(profile, aids=(*profile.aids, NAME))",
        "return profile",
    ),
    "S-131": ("bot/skills/tool.py", 'known = ", ".join(self._skills)', 'known = ""'),
    "S-132": (
        "bot/skills/tool.py",
        'self._pending[name] = "" if name in self._loaded else text',
        "self._pending[name] = text",
    ),
    "S-133": ("bot/skills/tool.py", "*names[:MAX_LISTED]", "*names"),
    "S-134": ("bot/agent/conversation.py", 'self.add_user_text(text, "added")', "pass"),
    "S-135": ("bot/skills/rules.py", "MAX_NAME = 64", "MAX_NAME = 640"),
    "S-136": ("bot/skills/rules.py", 'if name == "when_to_use":', "if False:"),
    "S-137": ("bot/skills/tool.py", '_CLOSING.sub("&lt;", body)]', "body]"),
    "S-138": (
        "bot/skills/tool.py",
        "file.chmod(0o555 if executable[path] else 0o444)",
        "file.chmod(0o644)",
    ),
    "S-139": (
        "bot/skills/find.py",
        "if (winner := skills.get(skill.name)) is not None:",
        "if (winner := None) is not None:",
    ),
    "S-140": ("bot/session/tools/toolbox.py", "if ask_rule.effect is not Effect.ASK:", "if False:"),
    "S-141": (
        "bot/agent/conversation.py",
        "self._switch_provider(context.provider_override() or context.provider)",
        "self._switch_provider(context.provider)",
    ),
    "S-142": ("skills/write-tests/SKILL.md", "name: write-tests", "name: write-more-tests"),
    "S-143": (
        "bot/session/tools/skills.py",
        "commit = checkout.policy_sha or checkout.base_sha",
        "commit = checkout.base_sha",
    ),
    "S-144": ("bot/session/tools/skills.py", "if self.tool is None:", "if False:"),
    "S-145": (
        "bot/skills/tool.py",
        "            if name not in self._copied:",
        "            if False:",
    ),
    "S-146": (
        "bot/providers/openai_chat.py",
        "self._history.encoded(request.messages) if row)",
        "self._history.encoded(request.messages)[-2:] if row)",
    ),
    "S-147": (
        "bot/providers/encoding.py",
        "return self._cached[1]",
        'return self._cached[1].replace(b"{", b\'{"at":%d,\' % __import__("time").perf_counter_ns(), 1)',
    ),
    "S-148": (
        "bot/providers/encoding.py",
        "text = json.dumps(value, ensure_ascii",
        "text = json.dumps({k: value[k] for k in set(value)} if isinstance(value, dict) else value, ensure_ascii",
    ),
    "S-149": (
        "bot/providers/anthropic_messages.py",
        "in islice(users, _MESSAGE_MARKS):",
        "in islice(users, 1):",
    ),
    "S-150": ("bot/agent/receive.py", "first = clock() - start_time", "first = 0.0"),
    "S-151": (
        "bot/providers/openai_chat.py",
        'return b"%s%s]%s}" % (self._prefix.of(request), rows, tail)',
        'return b"{%s%s%s]}" % (tail[1:] + b"," * bool(tail), self._prefix.of(request)[1:], rows)',
    ),
    "S-152": (
        "bot/agent/masking.py",
        "refused=tuple(results))",
        "refused=())",
    ),
    "S-153": (
        "bot/providers/tool_choice.py",
        'required = request.tool_choice == "required" and info.forced_choice',
        'required = request.tool_choice == "required"',
    ),
    "S-154": ("bot/agent/masking.py", 'return tool.partition("_")[0]', "return tool"),
    "S-155": ("bot/providers/tool_choice.py", 'return "none"', "return None"),
    "S-156": (
        "bot/providers/openai_responses.py",
        "[_tool(spec) for spec in request.tools]",
        "[_tool(spec) for spec in request.tools[:2]]",
    ),
    "S-157": (
        "bot/providers/openai_chat.py",
        "[_tool(spec) for spec in request.tools]",
        "[_tool(spec) for spec in request.tools[:2]]",
    ),
    "S-158": (
        "bot/session/job/large_outputs.py",
        'path.write_text(text, encoding="utf-8", errors="replace")',
        "pass",
    ),
    "S-159": (
        "bot/agent/compaction.py",
        "transcript = self._archive(transcript_text(state.messages[:first_kept]))",
        'transcript = ""',
    ),
    "S-161": ("bot/session/tools/result_tools.py", "new.replace(path)", "pass"),
    "S-162": ("bot/agent/todo.py", "self.items = items", "self.items = self.items or items"),
    "S-163": (
        "bot/agent/conversation.py",
        "verbatim = (*self._continued_instruction, *self.context.hooks.verbatim_texts())",
        "verbatim = tuple(self.context.hooks.verbatim_texts())",
    ),
    "S-164": (
        "bot/agent/conversation.py",
        "isinstance(response, Complete) else response.partial",
        "isinstance(response, Complete) else None",
    ),
    "S-165": ("bot/contracts/tools.py", "if not (self.seed and outcome.others):", "if True:"),
    "S-166": ("bot/toolhost/freshness.py", "    if most is not None and tries > 1:", "    if False:"),
    "S-167": (
        "bot/agent/compaction.py",
        "compose_summary(carry_over_sections(summary, _last_summary(state.messages)),",
        "compose_summary(summary,",
    ),
    "S-168": (
        "bot/agent/compaction.py",
        "_cut_middle(transcript_text(old, MAX_PART),",
        "_cut_middle(transcript_text(old),",
    ),
    "S-169": ("bot/agent/title.py", "end._replace(usage=usage, cost=cost)", "end"),
    "S-170": ("bot/agent/conversation.py", "context.hooks.request_sent(self.turn)", "pass"),
    "S-171": (
        "bot/agent/message_history.py",
        "self._messages: list[Message] = []",
        'self._messages: list[Message] = MessageHistory.__init__.__dict__.setdefault("shared", [])',
    ),
    "S-172": ("bot/agent/usage.py", "self.cost += cost", "pass"),
}


def mutations() -> list[Mutation]:
    """Each with all the tests that its row names, whole runs last."""
    named = {row[0]: re.findall(r"`(tests/[^`]+)`", row[3]) for row in ROWS}
    late = {
        row: sorted(tests, key=lambda test: test.startswith("tests/session/")) for row, tests in named.items()
    }
    return [Mutation(row, tuple(late[row]), *line) for row, line in LINES.items()]


if __name__ == "__main__":
    sys.exit(play(mutations(), __doc__ or ""))
