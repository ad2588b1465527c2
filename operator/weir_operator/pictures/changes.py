"""What an earlier and a later plan have in common and what not, as the content of one picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from weir_operator.pictures.content import (
    Content,
    EntryChange,
    FlowContent,
    FragmentContent,
    NodeContent,
    read,
)
from weir_operator.planning.difference import PlanReport

Places = Mapping[tuple[str, str], str]  # (query, operator) -> node

SAME = 0.01  # rates that differ by less than this share count as the same


def compared(
    before: PlanReport, after: PlanReport, zones: Mapping[str, str] | None = None, why: str = ""
) -> Content:
    """The later plan with what has changed since the earlier one, and `why`; `zones` maps node -> zone."""
    old, new = read(before, zones), read(after, zones)
    was, now = _places(old), _places(new)
    earlier = {node.name: node for node in old.nodes}
    later = {node.name for node in new.nodes}
    nodes = [_node(earlier.get(node.name), node, was, now) for node in new.nodes]
    nodes += [
        _node(node, NodeContent(node.name, node.zone), was, now)
        for node in old.nodes
        if node.name not in later
    ]
    flows = _flows(old, new)
    moved = sum(1 for key, node in now.items() if was.get(key, node) != node)
    changed = [sum(flow.change == change for flow in flows) for change in ("new", "gone", "rate")]
    title = (
        f"What moved: {moved} operator{'s' * (moved != 1)} · flows: "
        f"{changed[0]} new, {changed[1]} gone, {changed[2]} at another rate"
    )
    subtitles = tuple(
        f"{word}: {' · '.join((content.title, *content.subtitles))}"
        for word, content in (("before", old), ("after", new))
    )
    return Content(title, (*filter(None, [why]), *subtitles), tuple(nodes), flows)


def _places(content: Content) -> Places:
    return {
        (fragment.query, name): node.name
        for node in content.nodes
        for fragment in node.fragments
        for _, name in fragment.operators
    }


def _node(old: NodeContent | None, new: NodeContent, was: Places, now: Places) -> NodeContent:
    """A node with its fragments' changes; those that have left it come last."""
    fragments = [_arrived(fragment, new.name, was) for fragment in new.fragments]
    if old:
        left = (_left(fragment, old.name, now) for fragment in old.fragments)
        fragments += [fragment for fragment in left if fragment]
    loads = (old.cpu, old.memory) if old else (0.0, 0.0)
    return replace(new, fragments=fragments, was_cpu=loads[0], was_memory=loads[1])


def _arrived(fragment: FragmentContent, node: str, was: Places) -> FragmentContent:
    origins = {name: was.get((fragment.query, name)) for _, name in fragment.operators}
    moved = frozenset(name for name, origin in origins.items() if origin != node)
    if not moved:
        return fragment
    places = sorted({origin for name in moved if (origin := origins[name])})
    note = f"moved here from {', '.join(places)}" if places else "new"
    return replace(fragment, change="new", moved=moved, note=note)


def _left(fragment: FragmentContent, node: str, now: Places) -> FragmentContent | None:
    """The part of an earlier fragment that is no longer on its node."""
    targets = {name: now.get((fragment.query, name)) for _, name in fragment.operators}
    moved = frozenset(name for name, target in targets.items() if target != node)
    if not moved:
        return None
    places = sorted({target for name in moved if (target := targets[name])})
    operators = tuple(item for item in fragment.operators if item[1] in moved)
    note = f"moved to {', '.join(places)}" if places else "no longer"
    return FragmentContent(fragment.query, operators, "gone", moved, note)


def _flows(old: Content, new: Content) -> tuple[FlowContent, ...]:
    earlier = {(flow.source, flow.target): flow for flow in old.flows}
    flows = []
    for flow in new.flows:
        before = earlier.pop((flow.source, flow.target), None)
        if before is None:
            flows.append(replace(flow, change="new"))
        else:
            rates = flow.bytes_per_second, before.bytes_per_second
            change: EntryChange = "rate" if abs(rates[0] - rates[1]) > SAME * max(rates) else "same"
            flows.append(replace(flow, change=change, was=rates[1]))
    gone = (
        replace(f, bytes_per_second=0.0, change="gone", was=f.bytes_per_second, binds=False)
        for f in earlier.values()
    )
    return (*flows, *gone)
