"""What the words of a language are cut of to find their stem: one table, its rows in the order they apply.

Plain strings, as a hook pays for this module where somebody types no English. An ending is written as the
language writes it, and compared folded; ``ending>other`` puts another in its place. Of one row the longest
ending counts, and what it leaves has at least so many letters as the row says.
"""

ENDINGS: "dict[str, tuple[tuple[int, str], ...]]" = {
    "de": ((4, "ern em ens er en es e s n innen erinnen>er t te ten tet"),),
    "fr": (
        (3, "s x aux>al eaux>eau eux"),
        (
            3,
            "ée er ez e é és euse>eux enne>en elle>el ette>et oie>oy oient>oy is i it ir irent ai ait aient",
        ),
        (4, "ent ons ant antes"),
    ),
    "es": (
        (3, "s es ces>z"),
        (
            3,
            "ación ición ando iendo ado ada ido ida ar er ir aron ieron amo emo imo an en aba aban"
            " ará erá irá o a e ó é í",
        ),
    ),
    "pt": (
        (3, "s ões>ão ães>ão ais>al éis>el óis>ol ns>m res>r zes>z"),
        (
            3,
            "ação ições ando endo indo ado ada ido ida ar er ir aram eram iram amo emo imo am em ou"
            " eu iu ava avam ão o a e",
        ),
    ),
    "it": (
        (3, "che>c chi>c ghe>g ghi>g cia>c cie>c gia>g gie>g"),
        (
            3,
            "are ere ire ato ata ati ate ito ita iti ite uto uta uti ute ano ono isce iscono isco"
            " ando endo ava avano ia ie io ii a e i o ò à è ì",
        ),
    ),
    "nl": (
        (3, "s"),
        (3, "eren en e eert eerd eer n ën ieën>i"),
        (4, "t d"),
    ),
    "sv": (
        (
            3,
            "orna ornas arna arnas erna ernas anden andet ande andena aren arens are or ar er en et"
            " an na ena ens ets ers ors ars as es a e n t ade ades at ats",
        ),
        (4, "s"),
    ),
    "fi": (
        (4, "ko kö kin kaan kään han hän pa pä"),
        (4, "mme nne nsa nsä ni"),
        (
            3,
            "ssa ssä sta stä lla llä lta ltä lle ksi na nä tta ttä n t ta tä aan ään een iin oon uun"
            " yyn öön seen siin ihin ien jen iden itten den tten taan tään daan dään etaan etään vat"
            " vät aa ää minen misen mista misesta mat mät oja öjä ita itä",
        ),
        (3, "kse>s ksi>s ime> oi öi ei ai äi a ä e i o ö u y as äs"),
    ),
    "pl": (
        (
            3,
            "ami ach owi om ów ie iem em ego emu ymi imi ych ich ej ym im ia iach iami iom iu a e i o"
            " u y ą ię ujemy uje ują ujesz ować owanie amy emy imy ają ać eć ić ąć yć nci>nt dzie>d"
            " dzi>d rze>r ście>st cie>t",
        ),
        (3, "i"),
    ),
    "ru": (
        (3, "ся сь"),
        (
            3,
            "ыми ими ого его ому ему ая яя ую юю ое ее ые ие ый ий ой ей ых их ым им ом ем иями ями"
            " ами иях ях ах иям ям ам ией ов ев ью ию ия ии ием а я о е и ы у ю ь й ает ают аешь ать"
            " ал ала али яет яют ять ял яла яли ывает ывают ывать ивает ивают ивать ует уют овать ит"
            " ят ить ил ила или ете ите еть ут ют ет ен ена ены ано аны ан",
        ),
        (4, "ь"),
    ),
    "uk": (
        (3, "ся сь"),
        (
            3,
            "ий ого ому им их ими ій ою ею а я о е и і ї у ю ь й ів їв ям ам ями ами ях ах ом ем єм"
            " ові еві ння ня нням нню ень єю ію ія ії ає ають ати ав ала али яє яють яти ює юють ювати"
            " ує ують увати ить ять ити ив ила или еть уть ть єть",
        ),
        (4, "ь"),
    ),
    "tr": (
        (
            3,
            "iyoruz iyorum iyorsun iyorlar iyor ıyoruz ıyor ıyorlar uyoruz uyorum uyor uyorlar üyor"
            " üyoruz ecek acak mez maz mek mak erim arım irim ırım elim alım meli malı medi madı mesi"
            " ması meye maya lım lim",
        ),
        (
            3,
            "larından lerinden larında lerinde larına lerine larını lerini larının lerinin ları leri"
            " lardan lerden larda lerde lara lere ların lerin larla lerle lar ler sından sinden sunda"
            " sında sinde sına sine sunu sını sini sının sinin si sı su sü ından inden undan ünden"
            " ında inde unda ünde ına ine una üne ını ini unu ünü ının inin unun ünün daki deki taki"
            " teki dan den tan ten da de ta te nın nin nun nün ın in un ün yı yi yu yü ı i u ü ya ye a"
            " e yla yle la le na ne nı ni nu nü ımız imiz umuz ümüz",
        ),
        (3, "ir ır ur ür er ar"),
        (3, "inil ıl il ul ül ın in un ün n"),
        (3, "b>p d>t g>k c>c a e i u"),
    ),
    "el": (
        (
            3,
            "ματα>μ ματος>μ ματων>μ μα>μ οντα>ον οντων>ον οντος>ον ονται εται όταν άται ώνται ουν"
            " ουμε ετε ει εις ω ους οι ων ου ος ο ας α ες ης η εων εως ιου ιων ια ιο ιες ιας ιος ι ον"
            " υ ειας εια ειες ειων ειο ειου έας είς έα",
        ),
    ),
    "he": (
        (2, "ויות יות יים ים ות אות ית"),
        (3, "ה ת"),
        (2, "י"),
    ),
    "ar": (
        (3, "ات ان ون ين ية ها هم ة ه ي ا يات"),
        (3, "ي"),
    ),
}

PREFIXES: "dict[str, str]" = {
    "he": "ה ו ב ל מ ש כ וה וב ול ומ וש בה לה מה שה כש ש",
    "ar": "ال وال بال كال فال لل ولل و ف ب ك ل س ي ت ن ا",
}
"""What may stand before a word, written together with it; whether it does can't be seen, so both count."""
UNSURE: "dict[str, str]" = {
    "fi": "ta tä na nä",
    "ru": "ет ит ют ут ят ен ан ил ем",
    "uk": "ет ить уть ють ять ен",
}
"""Endings with which other words end as well: a word counts without a cut by them, too."""
PASSED_OVER = {
    ("tr", 0): frozenset({2}),
    ("tr", 1): frozenset({2, 3}),
}
"""Rows that do not apply any more where a row of a language was met: a noun has no verb's endings."""
