from typing import Any, SupportsIndex

def merge_info(
    vector_infos: dict[str, Any],
    env_info: dict[str, Any],
    env_num: SupportsIndex,
    num_envs: SupportsIndex,
) -> None: ...
def split_info(vector_infos: dict[str, Any], env_num: SupportsIndex) -> dict[str, Any]: ...
