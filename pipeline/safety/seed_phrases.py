"""Phrases of words that open a wallet (BIP-39, English): twelve to twenty-four words of its list in a row.

The list is the standard's (2,048 words); the first four letters tell each of them apart, so those are what is
kept here. No sentence has twelve of them in a row, since the small words of a language are not in the list;
what is in the order of the alphabet is a list of words and no phrase.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from functools import lru_cache

from pipeline.safety.late import late
from pipeline.safety.rule import Span

_LEAST, _MOST_LETTERS = 12, 8
_LENGTHS = (12, 15, 18, 21, 24)
"""How many words a phrase has. With blanks between them words of the sentence may be more."""
_STEP = 5
"""Every fifth word is looked at first; an odd number, since a number may stand before each word."""
_WORD = late(r"[a-z]+")
_GAP = late(r"(?:[^\w.=(]|_){0,12}(?:\d{1,2}[.):\]]?(?:[^\w.=(]|_){0,6})?")
_STRIP = ".,;:|\"'`[](){}>*-_!?"
_NAMES = frozenset({"seed", "word", "words", "secret", "wallet", "key", "code", "recall", "paper", "vault"})
_JOINED = (",", "-", "_", "|", ";")


def phrases(lowered: str, words: list[str]) -> Iterator[Span]:
    """Yield start, end and kind of each phrase in a text; numbers before its words belong to it.

    `lowered` is the text in lower case, and `words` are what stands in it between blanks.
    """
    if _may_hold(words) or (len(words) < len(lowered) // 40 + 3 and _may_be_joined(words)):
        yield from _runs(lowered)


def _may_hold(words: list[str]) -> bool:
    """Say whether ten of the list's words stand in a row; numbers and signs between them do not count."""
    # Most texts have no such row, which is told without a line of Python for a word.
    if not _ENOUGH.search("".join(map(_SIGN_OF.__getitem__, words))):
        return False
    known = _known()
    at, last = _LEAST - 1, len(words)
    while at < last:
        if words[at].strip(_STRIP)[:4] in known:
            count, end = 0, at
            while end < last and (fits := _fits(words[end], known)) is not None:
                count, end = count + fits, end + 1
            start = at - 1
            while start >= 0 and count < _LEAST - 2 and (fits := _fits(words[start], known)) is not None:
                count, start = count + fits, start - 1
            if count >= _LEAST - 2:
                return True
            at = end
        at += _STEP
    return False


def _fits(word: str, known: Container[str]) -> int | None:
    """Return 1 for a word of the list, 0 for a number or signs, None for anything else."""
    bare = word.strip(_STRIP)
    if bare[:4] in known:
        return 1
    return None if bare.rstrip(".):") and not bare.isdigit() else 0


class _SignOf(dict[str, str]):
    """A sign for each word that was seen, by what `_fits` says: ``1``, ``0``, or ``-`` for anything else."""

    def __missing__(self, word: str) -> str:
        fits = _fits(word, _known())
        sign = "-" if fits is None else str(fits)
        if len(word) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[word] = sign
        return sign


_SIGN_OF = _SignOf()
_MOST_REMEMBERED, _LONGEST_REMEMBERED = 1 << 16, 40
_ENOUGH = re.compile(rf"1(?:0*1){{{_LEAST - 3}}}")
"""As many signs of words in a row as a phrase must have."""


def _may_be_joined(words: list[str]) -> bool:
    """Say whether one of `words` has so many parts that it can be a phrase without blanks."""
    return any(
        len(word) >= _LEAST * 4 - 1 and any(word.count(sign) >= _LEAST - 1 for sign in _JOINED)
        for word in words
    )


def _runs(lowered: str) -> Iterator[Span]:
    run: list[re.Match[str]] = []
    beginnings = _known()
    for word in _WORD.finditer(lowered):
        known = word[0][:4] in beginnings and len(word[0]) <= _MOST_LETTERS
        if run and not (known and _GAP.fullmatch(lowered, run[-1].end(), word.start())):
            yield from _phrase(run, lowered)
            run = []
        if known:
            run.append(word)
    yield from _phrase(run, lowered)


def _phrase(run: list[re.Match[str]], lowered: str) -> Iterator[Span]:
    while len(run) > _LEAST and len(run) not in _LENGTHS and _says_so(run, lowered):
        del run[0]
    words = [word[0] for word in run]
    if len(words) < _LEAST or len(set(words)) <= len(words) // 2 or words == sorted(words):
        return
    if len(words) not in _LENGTHS and "," in lowered[run[0].end() : run[1].start()]:
        return
    number = re.search(r"\d{1,2}[.):]?[ \t]*\Z", lowered[max(0, run[0].start() - 6) : run[0].start()])
    yield run[0].start() - (len(number[0]) if number else 0), run[-1].end(), "seed-phrase"


def _says_so(run: list[re.Match[str]], lowered: str) -> bool:
    """Say whether the first word of `run` only says that a phrase follows: "seed" is in the list itself."""
    return run[0][0] in _NAMES or ":" in lowered[run[0].end() : run[1].start()]


def beginnings() -> list[str]:
    """Return the first letters of the list's words, at most four, in its order."""
    return list(_known())


@lru_cache(maxsize=1)
def _known() -> dict[str, int]:
    """Return the number of each word, by its first four letters."""
    return {
        begin: number
        for number, begin in enumerate(
            letter + rest for letter, rests in _LIST.items() for rest in rests.split()
        )
    }


_LIST = {
    "a": (
        "ban bil ble bou bov bse bso bst bsu bus cce cci cco ccu chi cid cou cqu cro ct cti cto ctr ctu dap "
        "dd ddi ddr dju dmi dul dva dvi ero ffa ffo fra gai ge gen gre hea im ir irp isl lar lbu lco ler "
        "lie ll lle llo lmo lon lph lre lso lte lwa mat maz mon mou mus nal nch nci nge ngl ngr nim nkl nno "
        "nnu not nsw nte nti nxi ny par pol ppe ppl ppr pri rch rct rea ren rgu rm rme rmo rmy rou rra rre "
        "rri rro rt rte rti rtw sk spe ssa sse ssi ssu sth thl tom tta tte tti ttr uct udi ugu unt uth uto "
        "utu ver voc voi wak war way wes wfu wkw xis "
    ),
    "b": (
        "aby ach aco adg ag ala alc all amb ana ann ar are arg arr ase asi ask att eac ean eau eca eco eef "
        "efo egi eha ehi eli elo elt enc ene est etr ett etw eyo icy id ike ind iol ird irt itt lac lad lam "
        "lan las lea les lin loo los lou lue lur lus oar oat ody oil omb one onu ook oos ord ori orr oss "
        "ott oun ox oy rac rai ran ras rav rea ree ric rid rie rig rin ris roc rok ron roo rot row rus ubb "
        "udd udg uff uil ulb ulk ull und unk urd urg urs us usi usy utt uye uzz "
    ),
    "c": (
        "abb abi abl act age ake all alm ame amp an ana anc and ann ano anv any apa api apt ar arb ard arg "
        "arp arr art ase ash asi ast asu at ata atc ate att aug aus aut ave eil ele eme ens ent ere ert hai "
        "hal ham han hao hap har has hat hea hec hee hef her hes hic hie hil him hoi hoo hro huc hun hur "
        "iga inn irc iti ity ivi lai lap lar law lay lea ler lev lic lie lif lim lin lip loc log los lot "
        "lou low lub lum lus lut oac oas oco ode off oil oin oll olo olu omb ome omf omi omm omp onc ond "
        "onf ong onn ons ont onv ook ool opp opy ora ore orn orr ost ott ouc oun oup our ous ove oyo rac "
        "rad raf ram ran ras rat raw raz rea red ree rew ric rim ris rit rop ros rou row ruc rue rui rum "
        "run rus ry rys ube ult up upb uri urr urt urv ush ust ute ycl "
    ),
    "d": (
        "ad ama amp anc ang ari ash aug awn ay eal eba ebr eca ece eci ecl eco ecr eer efe efi efy egr ela "
        "eli ema emi eni ent eny epa epe epo ept epu eri esc ese esi esk esp est eta ete eve evi evo iag "
        "ial iam iar ice ies iet iff igi ign ile inn ino ire irt isa isc ise ish ism iso isp ist ive ivi "
        "ivo izz oct ocu og oll olp oma ona onk ono oor ose oub ove raf rag ram ras raw rea res rif ril rin "
        "rip riv rop rum ry uck umb une uri ust utc uty war yna "
    ),
    "e": (
        "age agl arl arn art asi ast asy cho col con dge dit duc ffo gg igh ith lbo lde lec leg lem lep lev "
        "lit lse mba mbo mbr mer mot mpl mpo mpt nab nac nd ndl ndo nem ner nfo nga ngi nha njo nli nou nri "
        "nro nsu nte nti ntr nve pis qua qui ra ras rod ros rro rup sca ssa sse sta ter thi vid vil vok vol "
        "xac xam xce xch xci xcl xcu xec xer xha xhi xil xis xit xot xpa xpe xpi xpl xpo xpr xte xtr ye yeb "
    ),
    "f": (
        "abr ace acu ade ain ait all als ame ami amo an anc ant arm ash at ata ath ati aul avo eat ebr ede "
        "ee eed eel ema enc est etc eve ew ibe ict iel igu ile ilm ilt ina ind ine ing ini ire irm irs isc "
        "ish it itn ix lag lam las lat lav lee lig lip loa loc loo low lui lus ly oam ocu og oil old oll "
        "ood oot orc ore org ork ort oru orw oss ost oun ox rag ram req res rie rin rog ron ros row roz rui "
        "uel un unn urn ury utu "
    ),
    "g": (
        "adg ain ala all ame ap ara arb ard arl arm as asp ate ath aug aze ene eni enr ent enu est hos ian "
        "ift igg ing ira irl ive lad lan lar las lid lim lob loo lor lov low lue oat odd old ood oos ori "
        "osp oss ove own rab rac rai ran rap ras rav rea ree rid rie rit roc rou row run uar ues uid uil "
        "uit un ym "
    ),
    "h": (
        "abi air alf amm ams and app arb ard ars arv at ave awk aza ead eal ear eav edg eig ell elm elp en "
        "ero idd igh ill int ip ire ist obb ock old ole oli oll ome one ood ope orn orr ors osp ost ote our "
        "ove ub uge uma umb umo und ung unt urd urr urt usb ybr "
    ),
    "i": (
        "ce con dea den dle gno ll lle lln mag mit mme mmu mpa mpo mpr mpu nch ncl nco ncr nde ndi ndo ndu "
        "nfa nfl nfo nha nhe nit nje nju nma nne nno npu nqu nsa nse nsi nsp nst nta nte nto nve nvi nvo "
        "ron sla sol ssu tem vor "
    ),
    "j": ("ack agu ar azz eal ean ell ewe ob oin oke our oy udg uic ump ung uni unk ust "),
    "k": ("ang een eep etc ey ick id idn ind ing iss it itc ite itt iwi nee nif noc now "),
    "l": (
        "ab abe abo add ady ake amp ang apt arg ate ati aug aun ava aw awn aws aye azy ead eaf ear eav ect "
        "eft eg ega ege eis emo end eng ens eop ess ett eve iar ibe ibr ice ife ift igh ike imb imi ink ion "
        "iqu ist itt ive iza oad oan obs oca ock ogi one ong oop ott oud oun ove oya uck ugg umb una unc "
        "uxu yri "
    ),
    "m": (
        "ach ad agi agn aid ail ain ajo ake amm an ana and ang ans anu apl arb arc arg ari ark arr ask ass "
        "ast atc ate ath atr att axi aze ead ean eas eat ech eda edi elo elt emb emo ent enu erc erg eri "
        "err esh ess eta eth idd idn ilk ill imi ind ini ino inu ira irr ise iss ist ix ixe ixt obi ode odi "
        "om ome oni onk ons ont oon ora ore orn osq oth oti oto oun ous ove ovi uch uff ule ult usc use ush "
        "usi ust utu yse yst yth "
    ),
    "n": (
        "aiv ame apk arr ast ati atu ear eck eed ega egl eit eph erv est et etw eut eve ews ext ice igh obl "
        "ois omi ood orm ort ose ota ote oth oti ove ow ucl umb urs ut "
    ),
    "o": (
        "ak bey bje bli bsc bse bta bvi ccu cea cto dor ff ffe ffi fte il kay ld liv lym mit nce ne nio nli "
        "nly pen per pin ppo pti ran rbi rch rde rdi rga rie rig rph str the utd ute utp uts val ven ver wn "
        "wne xyg yst zon "
    ),
    "p": (
        "act add age air ala alm and ane ani ant ape ara are ark arr art ass atc ath ati atr att aus ave "
        "aym eac ean ear eas eli en ena enc eop epp erf erm ers et hon hot hra hys ian icn ict iec ig ige "
        "ill ilo ink ion ipe ist itc izz lac lan las lat lay lea led luc lug lun oem oet oin ola ole oli "
        "ond ony ool opu ort osi oss ost ota ott ove owd owe rac rai red ref rep res ret rev ric rid rim "
        "rin rio ris riv riz rob roc rod rof rog roj rom roo rop ros rot rou rov ubl udd ull ulp uls ump "
        "unc upi upp urc uri urp urs ush ut uzz yra "
    ),
    "q": ("ual uan uar ues uic uit uiz uot "),
    "r": (
        "abb acc ace ack ada adi ail ain ais all amp anc and ang api are ate ath ave aw azo ead eal eas ebe "
        "ebu eca ece eci eco ecy edu efl efo efu egi egr egu eje ela ele eli ely ema eme emi emo end ene "
        "ent eop epa epe epl epo equ esc ese esi eso esp esu eti etr etu eun eve evi ewa hyt ib ibb ice ich "
        "ide idg ifl igh igi ing iot ipp isk itu iva ive oad oas obo obu ock oma oof ook oom ose ota oug "
        "oun out oya ubb ude ug ule un unw ura "
    ),
    "s": (
        "ad add adn afe ail ala alm alo alt alu ame amp and ati ato auc aus ave ay cal can car cat cen che "
        "cho cie cis cor cou cra cre cri cru ea ear eas eat eco ecr ect ecu eed eek egm ele ell emi eni ens "
        "ent eri erv ess ett etu eve had haf hal har hed hel her hie hif hin hip hiv hoc hoe hoo hop hor "
        "hou hov hri hru huf hy ibl ick ide ieg igh ign ile ilk ill ilv imi imp inc ing ire ist itu ix ize "
        "kat ket ki kil kin kir kul lab lam lee len lic lid lig lim log lot low lus mal mar mil mok moo nac "
        "nak nap nif now oap occ oci ock oda oft ola old oli olu olv ome ong oon orr ort oul oun oup our "
        "out pac par pat paw pea pec pee pel pen phe pic pid pik pin pir pli poi pon poo por pot pra pre "
        "pri py qua que qui tab tad taf tag tai tam tan tar tat tay tea tee tem tep ter tic til tin toc tom "
        "ton too tor tov tra tre tri tro tru tud tuf tum tyl ubj ubm ubw ucc uch udd uff uga ugg uit umm un "
        "unn uns upe upp upr ure urf urg urp urr urv usp ust wal wam wap war wea wee wif wim win wit wor "
        "ymb ymp yru yst "
    ),
    "t": (
        "abl ack ag ail ale alk ank ape arg ask ast att axi eac eam ell en ena enn ent erm est ext han hat "
        "hem hen heo her hey hin his hou hre hri hro hum hun ick ide ige ilt imb ime iny ip ire iss itl oas "
        "oba oda odd oe oge oil oke oma omo one ong oni ool oot op opi opp orc orn ort oss ota our owa owe "
        "own oy rac rad raf rag rai ran rap ras rav ray rea ree ren ria rib ric rig rim rip rop rou ruc rue "
        "rul rum rus rut ry ube uit umb una unn urk urn urt wel wen wic win wis wo ype ypi "
    ),
    "u": (
        "gly mbr nab naw ncl nco nde ndo nfa nfo nha nif niq nit niv nkn nlo nti nus nve pda pgr pho pon "
        "ppe pse rba rge sag se sed sef sel sua til "
    ),
    "v": (
        "aca acu agu ali all alv an ani apo ari ast aul ehi elv end ent enu erb eri ers ery ess ete iab ibr "
        "ici ict ide iew ill int iol irt iru isa isi isu ita ivi oca oic oid olc olu ote oya "
    ),
    "w": (
        "age ago ait alk all aln ant arf arm arr ash asp ast ate ave ay eal eap ear eas eat eb edd eek eir "
        "elc est et hal hat hea hee hen her hip his ide idt ife ild ill in ind ine ing ink inn int ire isd "
        "ise ish itn olf oma ond ood ool ord ork orl orr ort rap rec res ris rit ron "
    ),
    "y": ("ard ear ell ou oun out "),
    "z": ("ebr ero one oo "),
}
