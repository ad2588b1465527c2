"""What fragments that are gone have left on the brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from weir_runtime.exchanges.topic.topic import Topic, admin_of, owner_in_note
from weir_runtime.installation import Swept


def delete_topics(
    options: Mapping[str, Any], prefix: str, is_gone: Callable[[str], bool], installation: str
) -> Swept:
    """Of topics and consumer groups `<prefix><fragment>` of the fragments that `is_gone` names, those that
    are `installation`'s. Raises KafkaError.

    A topic says whose it is (`Topic.owner`), a group in what goes with its positions (`TopicLog.committed`).
    """
    admin, swept = admin_of(options), Swept()

    def chosen(names: Iterable[str]) -> list[str]:
        return sorted(n for n in names if n.startswith(prefix) and is_gone(n.removeprefix(prefix)))

    topics = [
        name
        for name in chosen(admin.list_topics())
        if swept.sort(name, Topic(name, options).owner(), installation)
    ]
    groups = chosen(group["group_id"] for group in admin.list_groups())
    groups = [name for name in groups if swept.sort(name, _owner(admin, name), installation)]
    if topics:
        admin.delete_topics(topics)
    if groups:
        admin.delete_groups(groups)
    return Swept(sorted({*swept.gone}), sorted({*swept.left}))


def _owner(admin: Any, group: str) -> str | None:
    """By the note beside one of its positions."""
    positions = admin.list_group_offsets([group]).get(group, {}).values()
    owners = (owner_in_note(position.metadata) for position in positions)
    return next(filter(None, owners), None)
