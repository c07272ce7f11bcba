"""What kinds of characters texts have, counted for all texts at once.

A character is a Unicode code point. Its class comes from one table of a byte for each of the
1,114,112 code points, so counting is a decoding, a look-up and a bincount.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scoring import hashing

Ints = npt.NDArray[np.int64]

(
    OTHER,
    HAN,
    HAN_SIMPLIFIED,
    HAN_TRADITIONAL,
    HAN_SUSPECT,
    KANA,
    HANGUL,
    LATIN,
    LATIN_1_LETTER,
    LATIN_1_OTHER,
    DIGIT,
    WIDE_LETTER,
    WIDE_DIGIT,
    EMOJI,
    BLANK,
    INVISIBLE,
    REPLACEMENT,
) = range(17)
CLASSES = 17

# Characters, frequent in everyday texts, of which one script has the one and the other the other.
# Each left one is in GB 2312 and not in Big5, each right one is in Big5 and not in GB 2312.
SIMPLIFIED = (
    "这们个来说国时会对过还没样开关见觉话请谢让给红绿难欢乐爱亲妈爷孙东车飞场门问间闻闹钟"
    "点热电脑络线视频记设备计议论语词读写书画图馆医药疗师务员业产买卖钱银财费贵贱赢输赛队"
    "军战斩龙马鸟鱼鸡鸭猪饭馒头饼饿饮汤条麦粮农园树叶节约华丽汉满韩兰亚欧罗伦纽岛湾区县乡"
    "厅层楼阳阴雾风灯烧焕灭烟尘净湿冻凉温实现验证试题级学习课练讲谁该应当须认识变换转运轻"
    "软动劳办决择选举权责报导览观测绘标处杀类总结续编织缝补裤袜帮顾虑忧伤庆贺礼笔纸张页颜"
)
TRADITIONAL = (
    "這們個來說國時會對過還沒樣開關見覺話請謝讓給紅綠難歡樂愛親媽爺孫東車飛場門問間聞鬧鍾"
    "點熱電腦絡線視頻記設備計議論語詞讀寫書畫圖館醫藥療師務員業產買賣錢銀財費貴賤贏輸賽隊"
    "軍戰斬龍馬鳥魚雞鴨豬飯饅頭餅餓飲湯條麥糧農園樹葉節約華麗漢滿韓蘭亞歐羅倫紐島灣區縣鄉"
    "廳層樓陽陰霧風燈燒煥滅煙塵淨溼凍涼溫實現驗證試題級學習課練講誰該應當須認識變換轉運輕"
    "軟動勞辦決擇選舉權責報導覽觀測繪標處殺類總結續編織縫補褲襪幫顧慮憂傷慶賀禮筆紙張頁顏"
)

_RANGES: tuple[tuple[int, tuple[tuple[int, int], ...]], ...] = (
    (
        HAN,
        (
            (0x2E80, 0x2FDF),  # radicals
            (0x3005, 0x3007),
            (0x3021, 0x3029),
            (0x3038, 0x303B),
            (0x3400, 0x4DBF),
            (0x4E00, 0x9FFF),
            (0xF900, 0xFAFF),
            (0x20000, 0x3FFFF),
        ),
    ),
    (
        KANA,
        (
            (0x3041, 0x3096), (0x309D, 0x309F), (0x30A1, 0x30FA), (0x30FC, 0x30FF),
            (0x31F0, 0x31FF), (0xFF66, 0xFF9F),
        ),
    ),
    (
        HANGUL,
        (
            (0x1100, 0x11FF), (0x3131, 0x318E), (0xA960, 0xA97C), (0xAC00, 0xD7A3),
            (0xD7B0, 0xD7FB),
        ),
    ),
    (LATIN, ((0x41, 0x5A), (0x61, 0x7A), (0x100, 0x24F), (0x1E00, 0x1EFF))),
    (LATIN_1_LETTER, ((0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0xFF))),
    (LATIN_1_OTHER, ((0x80, 0x84), (0x86, 0x9F), (0xA1, 0xBF))),
    (DIGIT, ((0x30, 0x39),)),
    (WIDE_LETTER, ((0xFF21, 0xFF3A), (0xFF41, 0xFF5A))),
    (WIDE_DIGIT, ((0xFF10, 0xFF19),)),
    (
        EMOJI,
        (
            # Shown as a picture by default; and hearts, faces and suns, which mostly are.
            (0x231A, 0x231B), (0x23E9, 0x23EC), (0x23F0, 0x23F0), (0x23F3, 0x23F3),
            (0x25FD, 0x25FE), (0x2600, 0x2604), (0x2614, 0x2615), (0x2639, 0x263A),
            (0x2648, 0x2653), (0x267F, 0x267F), (0x2693, 0x2693), (0x26A0, 0x26A1),
            (0x26AA, 0x26AB), (0x26BD, 0x26BE), (0x26C4, 0x26C5), (0x26CE, 0x26CE),
            (0x26D4, 0x26D4), (0x26EA, 0x26EA), (0x26F2, 0x26F3), (0x26F5, 0x26F5),
            (0x26FA, 0x26FA), (0x26FD, 0x26FD), (0x2705, 0x2705), (0x270A, 0x270D),
            (0x2728, 0x2728), (0x274C, 0x274C), (0x274E, 0x274E), (0x2753, 0x2755),
            (0x2757, 0x2757), (0x2763, 0x2764), (0x2795, 0x2797), (0x27B0, 0x27B0),
            (0x27BF, 0x27BF), (0x2B1B, 0x2B1C), (0x2B50, 0x2B50), (0x2B55, 0x2B55),
            (0x1F004, 0x1F004), (0x1F0CF, 0x1F0CF), (0x1F18E, 0x1F18E), (0x1F191, 0x1F19A),
            (0x1F1E6, 0x1F1FF), (0x1F201, 0x1F251), (0x1F300, 0x1F64F), (0x1F680, 0x1F6FF),
            (0x1F7E0, 0x1F7EB), (0x1F900, 0x1FAFF),
        ),
    ),
    (
        INVISIBLE,
        (
            (0x00, 0x08), (0x0E, 0x1B), (0x7F, 0x7F), (0xAD, 0xAD), (0x200B, 0x200C),
            (0x200E, 0x200F), (0x202A, 0x202E), (0x2060, 0x2064), (0x2066, 0x206F),
            (0xFEFF, 0xFEFF),
        ),
    ),
    (
        BLANK,
        (
            (0x09, 0x0D), (0x1C, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680),
            (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F),
            (0x3000, 0x3000),
        ),
    ),
    (REPLACEMENT, ((0xFFFD, 0xFFFD),)),
)  # fmt: skip


@cache
def _table() -> npt.NDArray[np.uint8]:
    """The class of every code point."""
    table = np.zeros(0x110000, np.uint8)
    for number, ranges in _RANGES:
        for first, last in ranges:
            table[first : last + 1] = number
    for number, characters in ((HAN_SIMPLIFIED, SIMPLIFIED), (HAN_TRADITIONAL, TRADITIONAL)):
        table[[ord(c) for c in characters]] = number
    # A Chinese character in UTF-8 begins with E3 to E9, then 80 to BF. Read as GBK, the two are
    # one of these rare characters.
    for lead in range(0xE3, 0xEA):
        for trail in range(0x80, 0xC0):
            table[ord(bytes([lead, trail]).decode("gb18030"))] = HAN_SUSPECT
    return table


def points_of(texts: pa.Array) -> tuple[npt.NDArray[np.uint32], Ints]:
    """The characters of all texts as code points, and how many each text has."""
    data, _ = hashing.utf8_of(texts)
    points = np.frombuffer(data.tobytes().decode("utf-8").encode("utf-32-le"), "<u4")
    return points, pc.utf8_length(texts).to_numpy(zero_copy_only=False).astype(np.int64)


def count_classes(texts: pa.Array) -> Ints:
    """How many characters of each class every text has: [texts, CLASSES]."""
    points, lengths = points_of(texts)
    cell = np.repeat(np.arange(0, len(texts) * CLASSES, CLASSES, dtype=np.int64), lengths)
    cell += _table()[points]
    return np.bincount(cell, minlength=len(texts) * CLASSES).reshape(len(texts), CLASSES)


def mojibake(texts: pa.Array, counts: Ints) -> npt.NDArray[np.bool_]:
    """Texts that look like UTF-8 that was read as GBK or Latin-1: [texts].

    counts: as ``count_classes`` gives them. Only texts full of characters that such a mistake makes
    are looked at more closely: written in the wrong encoding and read in the right one they must
    be valid and shorter. A text that is wrong in parts only is not found.
    """
    han = counts[:, HAN : HAN_SUSPECT + 1].sum(axis=1)
    gbk = (counts[:, HAN_SUSPECT] > 0) & (4 * counts[:, HAN_SUSPECT] >= han)
    latin = (counts[:, LATIN_1_OTHER] > 1) & (counts[:, LATIN_1_OTHER] >= counts[:, LATIN_1_LETTER])
    found = np.zeros(len(texts), np.bool_)
    for encoding, candidates in (("gb18030", gbk), ("latin-1", latin)):
        rows = np.flatnonzero(candidates)
        for row, text in zip(rows.tolist(), texts.take(pa.array(rows)).to_pylist()):
            found[row] |= _shortens(text, encoding)
    return found


def _shortens(text: str, encoding: str) -> bool:
    try:
        return len(text.encode(encoding).decode("utf-8")) < len(text)
    except UnicodeError:
        return False
