"""The functional Blackjack deals and pays like Gymnasium's, card by card."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest

import gymcore
from tests.envs.functional import modules, same, same_signatures, same_spaces, step_both

HANDS = (
    (10, 10),
    (10, 7),
    (1, 10),
    (10, 1),
    (10, 5, 6),
    (10, 10, 5),
    (1, 5, 10),
    (1, 10, 10),
    (2,),
)
RULES = list(itertools.product((False, True), (False, True)))


def both() -> list[Any]:
    return list(modules("tabular.blackjack"))


def hand(cards: Any, length: int = 21) -> Any:
    jnp = pytest.importorskip("jax.numpy")

    return jnp.array([*cards, *[0] * (length - len(cards))], jnp.float32)


def test_names_and_signatures() -> None:
    ours, theirs = both()
    for name in ("BlackjackFunctional", "BlackJackJaxEnv"):
        same_signatures(getattr(ours, name), getattr(theirs, name))
    same_spaces(ours.BlackjackFunctional(), theirs.BlackjackFunctional())
    assert ours.EnvState._fields == theirs.EnvState._fields
    assert ours.SCREEN_SIZE == theirs.SCREEN_SIZE
    same(ours.deck, theirs.deck)
    assert repr(ours.BlackJackParams()) == repr(theirs.BlackJackParams())
    for name in ("natural", "sutton_and_barto"):
        assert getattr(ours.BlackJackParams, name) == getattr(theirs.BlackJackParams, name)
    assert ours.BlackJackJaxEnv().metadata == theirs.BlackJackJaxEnv().metadata
    same_spaces(ours.BlackJackJaxEnv(), theirs.BlackJackJaxEnv())
    assert ours.BlackjackFunctional.metadata["render_fps"] == 4
    package, other = modules("tabular")
    assert package.__all__ == other.__all__
    params = ours.BlackjackFunctional().get_default_params(natural=True)
    assert params == ours.BlackJackParams(natural=True)


def test_helpers() -> None:
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    ours, theirs = both()
    for cards in HANDS:
        for dtype in (jnp.float32, jnp.int32):
            array = hand(cards).astype(dtype)
            for name in ("usable_ace", "sum_hand", "is_bust", "score", "is_natural"):
                same(*(getattr(one, name)(array) for one in (ours, theirs)))
            same(*(one.dealer_stop((None, array, 2)) for one in (ours, theirs)))
    for a, b in itertools.product((1, 2), (1, 2)):
        same(*(one.cmp(jnp.array(a), jnp.array(b)) for one in (ours, theirs)))
    for seed in range(15):
        key, array = jax.random.PRNGKey(seed), jnp.zeros(5, jnp.int32)
        same(*(one.random_card(key) for one in (ours, theirs)))
        same(*(one.draw_card(key, array, seed % 5) for one in (ours, theirs)))
        same(*(one.draw_card_wrapper((key, array, 1)) for one in (ours, theirs)))
        same(*(one.draw_hand(key, array) for one in (ours, theirs)))
        states = [one.BlackjackFunctional().initial(key) for one in (ours, theirs)]
        for name in ("take", "notake"):
            same(
                *(
                    getattr(one, name)((s, key))
                    for one, s in zip((ours, theirs), states, strict=True)
                )
            )


def test_functions() -> None:
    """Tables of twenty keys: stick, hit, and hit again after the end."""
    jax = pytest.importorskip("jax")

    modules_ = both()
    functions = [one.BlackjackFunctional() for one in modules_]
    for seed in range(20):
        key = jax.random.PRNGKey(seed)
        states = [one.initial(key) for one in functions]
        for action in ((1, 1, 1, 0, 1), (0, 1, 0), (1, 0))[seed % 3]:
            key = jax.random.split(key)[0]
            same(*states)
            after = [
                one.transition(s, action, key) for one, s in zip(functions, states, strict=True)
            ]
            same(*after)
            same(
                *(
                    (
                        one.observation(new, key),
                        one.terminal(new, key),
                        one.reward(old, action, new, key),
                        one.state_info(new),
                        one.transition_info(old, action, new),
                    )
                    for one, old, new in zip(functions, states, after, strict=True)
                )
            )
            states = after


@pytest.mark.parametrize(("natural", "book"), RULES)
def test_rewards(natural: bool, book: bool) -> None:
    """For all pairs of hands; the table before the action does not count."""
    modules_ = both()
    for player, dealer, action in itertools.product(HANDS, HANDS, (0, 1)):
        rewards = []
        for module in modules_:
            old = module.EnvState(hand((3, 4)), hand((5, 6)), 2, 2, 0)
            new = module.EnvState(hand(dealer), hand(player), len(dealer), len(player), 1)
            params = module.BlackJackParams(natural=natural, sutton_and_barto=book)
            reward = module.BlackjackFunctional().reward(old, action, new, None, params)
            rewards.append((reward,))
        same(*rewards)


def test_rewards_a_person_can_check() -> None:
    ours, _ = both()

    def reward(player: Any, dealer: Any, action: int, **rules: bool) -> float:
        table = ours.EnvState(hand(dealer), hand(player), 2, 2, 1)
        functions = ours.BlackjackFunctional()
        return float(functions.reward(table, action, table, None, ours.BlackJackParams(**rules)))

    assert reward((10, 10), (10, 7), 0) == 1
    assert reward((10, 7), (10, 7), 0) == 0
    assert reward((10, 7), (10, 10), 0) == -1
    assert reward((10, 10, 5), (10, 7), 1) == -1
    assert reward((10, 5), (10, 7), 1) == 0
    assert reward((1, 10), (10, 5, 6), 0) == 1
    assert reward((1, 10), (10, 5, 6), 0, sutton_and_barto=False) == 0
    assert reward((1, 10), (10, 7), 0, sutton_and_barto=False, natural=True) == 1.5


def test_episodes() -> None:
    both()
    actions = np.random.default_rng(3).integers(2, size=300).tolist()
    assert step_both("tabular/Blackjack-v0", actions) > 100


def test_a_batch_by_hand() -> None:
    """The functions may be batched: all lanes get the same cards as alone."""
    jax = pytest.importorskip("jax")

    ours, _ = both()
    functions = ours.BlackjackFunctional()
    keys = jax.random.split(jax.random.PRNGKey(3), 6)
    tables = jax.vmap(functions.initial)(keys)
    actions = np.array([0, 1, 0, 1, 1, 0])
    after = jax.jit(jax.vmap(functions.transition))(tables, actions, keys)
    for lane in range(6):
        alone = functions.transition(functions.initial(keys[lane]), int(actions[lane]), keys[lane])
        same(tuple(field[lane] for field in after), tuple(alone))


def test_batches_are_of_single_environments() -> None:
    both()
    envs = gymcore.make_vec("tabular/Blackjack-v0", num_envs=3)
    observations, _ = envs.reset(seed=1)
    assert observations.shape == (3, 3)
    assert envs.step(np.array([0, 1, 0]))[1].shape == (3,)
    envs.close()


def test_a_pickle_holds_the_arguments() -> None:
    ours, _ = both()
    env = ours.BlackJackJaxEnv()
    same(env.reset(seed=1), pickle.loads(pickle.dumps(env)).reset(seed=1))


def test_pictures() -> None:
    pytest.importorskip("pygame")
    modules_ = both()
    frames = []
    for module in modules_:
        functions = module.BlackjackFunctional()
        state = module.EnvState(hand((10, 7)), hand((1, 5)), 2, 2, 0)
        render_state, frame = functions.render_image(state, functions.render_init())
        frames.append(frame)
        assert functions.render_close(render_state) is None
    assert frames[0].shape == frames[1].shape == (376, 384, 3)
    functions = modules_[0].BlackjackFunctional()
    more = state._replace(dealer_hand=hand((10, 4, 1)), player_hand=hand((1, 5, 9)))
    other = functions.render_image(more, functions.render_init(300, 250))[1]
    assert other.shape == (250, 300, 3)
    env = gymcore.make("tabular/Blackjack-v0", render_mode="rgb_array")
    env.reset(seed=1)
    assert np.asarray(env.render()).shape == (376, 384, 3)
    env.close()
