"""Names of people, firms and places that never repeat, drawn by number."""

from __future__ import annotations

import hashlib
import math

WORDS = """Amber Anchor Ash Autumn Badger Barley Beacon Birch Bramble Bridle Bronze Cedar Chalk Cinder Clover
Cobalt Copper Coral Cotton Crane Crimson Crystal Cypress Dahlia Dapple Dune Eagle Ebony Elder Ember Falcon Fallow
Feather Fern Finch Flint Fox Garnet Ginger Glacier Golden Granite Harbor Harvest Hazel Heather Heron Holly Honey
Indigo Iron Ivory Jade Jasper Juniper Kestrel Lantern Larch Lark Laurel Lavender Lichen Linen Lotus Magnolia Maple
Marble Marigold Meadow Mercury Mint Moss Mulberry Nettle Nutmeg Oak Ochre Olive Onyx Opal Orchard Osprey Otter Owl
Pearl Pebble Pepper Pewter Pine Plover Plum Poplar Poppy Prairie Quarry Quartz Quill Quince Raven Reed Robin Rose
Rowan Ruby Rust Saffron Sage Salt Sandal Sapphire Scarlet Sedge Shale Silver Slate Sorrel Sparrow Spruce Starling
Stone Sunset Swallow Swift Sycamore Tansy Teal Thistle Thorn Thunder Timber Topaz Tulip Velvet Violet Walnut Willow
Winter Wren Yarrow Yew Zephyr""".split()

FIRST = """Ada Alan Amara Anton Bela Bruno Carla Cyril Dalia Dmitri Edith Elias Farah Felix Greta Hamid Hector
Ines Ivan Jonas Judith Kamal Karin Lars Leila Magnus Marta Mei Milos Nadia Nils Olga Omar Paula Pavel Petra Rafael
Ravi Rhea Rosa Samir Selma Simon Sofia Tariq Tessa Thea Tomas Uma Viktor Wanda Yusuf Zelda Zora""".split()

LAST = """Abbott Adeyemi Alvarez Arnold Baptiste Barros Becker Bianchi Bogdan Brandt Calder Castillo Chen Cohen
Conrad Dahl Danso Delgado Dubois Eriksen Farrow Fischer Fontaine Garcia Gomez Haddad Hansen Hoffman Horvat Ibrahim
Ivanov Jansen Jensen Kaplan Keller Kimura Kovacs Laurent Lindgren Lopez Madsen Marino Mbeki Mendoza Moreau Morgan
Nakata Navarro Novak Okafor Olsen Ortega Osman Park Patel Pereira Petrov Quist Ramos Rossi Ruiz Salazar Santos
Schmidt Silva Sokolov Suzuki Takeda Tanaka Torres Ueda Vargas Vidal Wagner Weber Wolff Yamada Zhang""".split()

FIRMS = "Trading Works Holdings Partners Supplies Foods Textiles Freight Energy Optics".split()
PLACES = "House Court Lodge Hall Wharf Mill Yard Depot Gate Tower".split()
SHIPS = "Star Spirit Pride Venture Voyager Carrier".split()
MACHINES = "Press Lathe Loom Mixer Grinder Sorter".split()
NUMERALS = ("", " II", " III", " IV", " V", " VI", " VII", " VIII", " IX", " X")

POOLS = {
    "person": (FIRST, LAST, LAST),
    "firm": (WORDS, WORDS, FIRMS),
    "place": (WORDS, WORDS, PLACES),
    "ship": (WORDS, WORDS, SHIPS),
    "machine": (WORDS, WORDS, MACHINES),
}


class Names:
    """Name number n of a kind: a seeded walk through all combinations, so none comes twice."""

    def __init__(self, seed: int):
        self.seed = seed
        self._walks = {kind: self._walk(kind, math.prod(map(len, pools))) for kind, pools in POOLS.items()}

    def _walk(self, kind: str, total: int) -> tuple[int, int, int]:
        """(step, start, total) of the walk n -> (step n + start) mod total; the step shares no factor with total."""
        step = int(total * (0.5 + 0.4 * drawn(self.seed, "step", kind) / 2**64))
        while math.gcd(step, total) > 1:
            step += 1
        return step, drawn(self.seed, "start", kind) % total, total

    def __call__(self, kind: str, number: int) -> str:
        step, start, total = self._walks[kind]
        place = (step * number + start) % total
        words = []
        for pool in POOLS[kind]:
            place, at = divmod(place, len(pool))
            words.append(pool[at])
        return " ".join(words) + NUMERALS[number // total]


def drawn(seed: int, *what: object) -> int:
    """A 64-bit number that depends on the seed and on what it is for, and on nothing else."""
    text = "/".join(map(str, (seed, *what)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
