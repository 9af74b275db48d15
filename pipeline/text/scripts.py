"""Scripts that put no spaces between words: one table, as ranges for a regular expression's character class.

Plain strings and no import, since the prompt hook pays for this module. A caller names the entries it
takes and says why it leaves others out.
"""

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese characters with their extensions and compatibility forms, the repetition mark and the zero."""
HIRAGANA = "\u3040-\u309f"
"""Apart from katakana, because it writes the grammar of Japanese and few of its nouns."""
KATAKANA = "\u30a0-\u30ff\u31f0-\u31ff\uff66-\uff9f"
"""With the long-vowel mark and the halfwidth forms, which stand in text that was not folded."""
THAI = "\u0e00-\u0e7f"
LAO = "\u0e80-\u0eff"
MYANMAR = "\u1000-\u109f"
KHMER = "\u1780-\u17ff"
HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
"""An entry of its own: Korean spaces its words, but particles cling to them."""

KANA = HIRAGANA + KATAKANA
UNSPACED = HAN + KANA + THAI + LAO + MYANMAR + KHMER
"""All of them without Hangul."""
PUNCTUATION = (
    "\u00a0\u00ab\u00b7\u00bb\u037e\u0387\u055a-\u055f\u0589\u05be\u05c0\u05c3\u05f3\u05f4\u060c\u061b\u061d-\u061f\u066a-\u066d\u06d4"
    "\u0964\u0965\u0e2f\u0e5a\u0e5b\u104a\u104b\u1361-\u1368\u17d4-\u17da\u2000-\u206f\u3000-\u3003\u3008-\u3020\u3030\ufe10-\ufe19\ufe30-\ufe52"
)
"""Marks and spaces of scripts other than Latin, which end a word; without the fullwidth forms of ASCII."""
