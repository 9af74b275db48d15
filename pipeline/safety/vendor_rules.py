"""Keys and tokens that vendors give a shape of their own: a secret wherever one stands.

Each of the first kind stands with an example that it finds, the secret in ``«»``, and one that it must leave
alone. Those of `MORE` have their prefix as hint and are tested with made-up values of their pattern. A ``~``
in an example is dropped first: without it, scanners of this repository would take made-up secrets for real.
"""

from __future__ import annotations

import re

from pipeline.safety.rule import Rule, joined, token, whole

PREFIXED = (
    Rule("token", ("sk-",), token(r"sk-(?:ant|proj|svcacct|admin|or|lf)-[\w-]{8,}"),
         "the key is «sk-~ant-api03-made-up-0123456789» for now", "fixed in risk-ant-colony-simulations"),
    Rule("token", ("sk-",), token(r"sk-[A-Za-z0-9]{20,}"),
         "old key «sk-~abcdefghij0123456789» here", "risk-averse-people-are-12345678901234567890"),
    Rule("token", ("k_live_", "k_test_"), token(r"[prs]k_(?:live|test)_\w{10,}"),
         "charge with «sk_~live_abcdefghij0123» now", "task_live_migrations_of_tables"),
    Rule("token", ("whsec_",), token(r"whsec_[\w+/=]{16,}"),
         "the hook has «whsec~_abcdefghij0123456789»", "settings.whsec_name"),
    Rule("token", ("gho_", "ghp_", "ghs_", "ghu_", "ghr_"), token(r"gh[opsur]_[A-Za-z0-9]{16,}"),
         "push with «gh~p_aBcDeFgHiJkLmNoPqRsTuV» please", "the prefix ghp_ marks a token"),
    Rule("token", ("github_pat_",), token(r"github_pat_\w{16,}"),
         "fine grained «github_~pat_11ABCDEFG0aBcDeFgHiJ» ok", "read github_pat_name from the file"),
    Rule("token", ("xox",), token(r"xox[a-z]-[A-Za-z0-9-]{8,}"),
         "bot «xox~b-123456789012-abcdef» posts", "tokens begin with xoxb-"),
    Rule("token", ("xapp-",), token(r"xapp-\d-[A-Za-z0-9-]{16,}"),
         "app «xap~p-1-A0123456789-abcdef» runs", "xapp-1-beta is out"),
    Rule("token", ("npm_",), token(r"npm_[A-Za-z0-9]{30,}"),
         "publish with «np~m_abcdefghijklmnopqrstuvwxyz0123»", "npm_config_registry is set"),
    Rule("token", ("hf_",), token(r"hf_[A-Za-z0-9]{30,}"),
         "load with «hf~_abcdefghijklmnopqrstuvwxyz0123»", "hf_hub_download loads it"),
    Rule("token", ("aiza",), token(r"AIza[\w-]{30,}"),
         "maps «AI~zaSyA0123456789abcdefghijklmnopqrstu» key", "AIza is how they begin"),
    Rule("token", ("gocspx-",), token(r"GOCSPX-[\w-]{28}"),
         "client «GOC~SPX-abcdefghijklmnopqrstuvwxyz01» of Google", "GOCSPX- begins it"),
    Rule("token", ("ya29.",), token(r"ya29\.[\w-]{20,}"),
         "oauth «ya2~9.a0AfMadeUpMadeUpMadeUp» works", "ya29.example"),
    Rule("token", ("dop_v1_",), token(r"dop_v1_[0-9a-f]{32,}"),
         "droplet «dop_~v1_0123456789abcdef0123456789abcdef»", "dop_v1_tokens expire"),
    Rule("token", ("shpat_", "shpca_", "shppa_", "shpss_"), token(r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
         "shop «shpat~_0123456789abcdef0123456789ABCDEF»", "shpat_tokens are for apps"),
    Rule("token", ("lin_api_",), token(r"lin_api_\w{20,}"),
         "issues with «lin_~api_abcdefghij0123456789»", "lin_api_client is slow"),
    Rule("token", ("sntry",), token(r"sntry[su]_[\w+/=-]{30,}"),
         "errors go to «sntry~s_eyJpYXQiOjE3MDAwMDAwMDAsMadeUp»", "sntrys_release is a tag"),
    Rule("token", ("atatt3",), token(r"ATATT3[\w=-]{30,}"),
         "wiki «ATATT~3xFfGF0abcdefghijklmnopqrstuvwxyz» edits", "ATATT3 is the prefix"),
    Rule("token", ("age-secret-key-",), token(r"AGE-SECRET-KEY-1[0-9A-Z]{40,}"),
         f"decrypt with «AGE-SECRET-KEY-~1{'QQQQ0123456789' * 3}»", "AGE-SECRET-KEY-1 begins it"),
    Rule("token", ("tskey-",), token(r"tskey-[a-z]+-[\w-]{16,}"),
         "join with «tskey-~auth-k123456CNTRL-abcdef»", "tskey-auth-short"),
    Rule("token", ("akcp",), token(r"AKCp[A-Za-z0-9]{10,}"),
         "artifacts «AKC~p5abcdefghij01» upload", "AKCp begins it"),
    Rule("token", ("eyj",), token(r"eyJ[\w-]{10,}(?:\.[\w-]{6,}){1,4}"),
         "header «ey~JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.made_up» ends", "eyJhbGciOiJIUzI1NiJ9 decodes"),
)  # fmt: skip

VENDORS = (
    Rule("aws", ("akia", "asia", "abia", "acca", "a3t"),
         whole(r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16}"),
         "id «AKI~A0123456789ABCDEF» in eu-west-1", "blob xAKIA0123456789ABCDEFGH"),
    Rule("azure-storage-key", ("accountkey=",), whole(r"AccountKey=[a-zA-Z0-9+/=]{88}"),
         f"AccountName=x;«AccountKey=~{'a1B2' * 21}ab==»;y", "AccountKey=$(az storage keys list)"),
    Rule("gitlab", ("glpat", "gldt", "glft", "glsoat", "glrt", "glcbt"),
         whole(r"(?:(?:glpat|gldt|glft|glsoat|glrt)-|glcbt-(?:[0-9a-fA-F]{2}_)?)[A-Za-z0-9_-]{20,50}(?!\w)"),
         "GitLab «glp~at-abcdefghij0123456789» here", "glpat-short"),
    Rule("gitlab", ("gr1348941",), whole(r"GR1348941[A-Za-z0-9_-]{20,50}(?!\w)"),
         "register with «GR134~8941abcdefghij0123456789»", "GR1348941 begins it"),
    Rule("gitlab", ("glimt", "glptt", "glagent", "gloas"),
         whole(r"(?:glimt-[A-Za-z0-9_-]{25}|glptt-[A-Za-z0-9_-]{40}|glagent-[A-Za-z0-9_-]{50,1024}"
                r"|gloas-[A-Za-z0-9_-]{64})(?!\w)"),
         f"trigger «glp~tt-{'0123456789' * 4}»", "glagent-config is a file"),
    Rule("mailchimp", ("-us",), whole(r"[0-9a-z]{32}-us[0-9]{1,2}"),
         "list «0123456789abcdef~0123456789abcdef-us12»", "tell-us12 and 0123456789abcdef-us1"),
    Rule("npm", (":_authtoken",), r"//\S+/:_authToken=\s*(?P<value>[A-Fa-f0-9-]{36})(?![^\W_])",
         "//registry.example.org/:_authToken=«01234567-~89ab-cdef-0123-456789abcdef»",
         "//registry.example.org/:_authToken=${NPM}"),
    Rule("pypi", ("pypi-ag",), whole(r"pypi-(?:AgEIcHlwaS5vcmc|AgENdGVzdC5weXBpLm9yZw)[A-Za-z0-9_-]{70,}"),
         f"upload with «pypi~-AgEIcHlwaS5vcmc{'a1b2c3d4e5' * 7}»", "pypi-AgEIcHlwaS5vcmc begins it"),
    Rule("sendgrid", ("sg.",), whole(r"SG\.[a-zA-Z0-9_-]{22}\.[a-zA-Z0-9_-]{43}"),
         f"mail «SG.~abcdefghijklmnopqrstuv.{'abcdefghij' * 4}ABC» ok", "see SG.chapter.two"),
    Rule("slack", ("hooks.slack.com",), whole(r"(?i:https://hooks\.slack\.com/(?:services|workflows|triggers)/[TE][a-z0-9_]+(?:/[a-z0-9_]+){2,3})"),
         "post to «https://hooks.slack.~com/services/T00000000/B00000000/madeupmadeup» today",
         "https://hooks.slack.com/services/ is the start"),
    Rule("square-oauth", ("sq0csp",), whole(r"sq0csp-[0-9A-Za-z\\_-]{43}"),
         f"pay with «sq0~csp-{'abcdefghij' * 4}ABC»", "sq0csp-short"),
    Rule("telegram", (":aa",), whole(r"\d{8,10}:[0-9A-Za-z_-]{35}"),
         f"chat «12345678:~AA{'abcdefghij' * 3}ABC»",
         "timer 1700000000:aa39a3ee5e6b4b0d3255bfef95601890afd80709"),
)  # fmt: skip


NEAR = (
    Rule("aws", ("aws",),
         r"(?i)aws.{0,20}?(?:key|pwd|pw|password|pass|token).{0,20}?['\"](?P<value>[0-9a-z/+]{40})['\"]",
         "aws sts key is '«wJalrXUtnFEMI/K7MDENG/bPxRfiCYmadeupkey0~»'",
         "aws says the key of '3f786850e387550fdab836ed7e6dc881de23001' is gone"),
    Rule("twilio", ("twilio",), whole(r"(?:AC|SK)[a-z0-9]{32}"),
         "twilio «AC~0123456789abcdef0123456789abcdef» calls", "twilio ACcounts are listed"),
)  # fmt: skip
"""What has no shape of its own but a vendor's name beside it."""


def _more(hint: str, pattern: str, *more: str) -> tuple[tuple[str, ...], str]:
    return (hint, *more), pattern


_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_MORE = (
    _more("gsk_", r"gsk_[A-Za-z0-9]{32,}"),
    _more("xai-", r"xai-[A-Za-z0-9]{40,}"),
    _more("pplx-", r"pplx-[A-Za-z0-9]{32,}"),
    _more("dckr_", r"dckr_(?:pat|oat)_[\w-]{20,}"),
    _more("glsa_", r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    _more("glc_", r"glc_eyJ[A-Za-z0-9+/=]{30,}"),
    _more("dapi", r"dapi[0-9a-f]{32}(?:-\d)?"),
    _more("dose", r"dose[0-9a-f]{32}"),
    _more("fig", r"fig[dour]_[\w-]{36,}"),
    _more("ntn_", r"ntn_[A-Za-z0-9]{40,}"),
    _more("secret_", r"secret_[A-Za-z0-9]{43}(?!\w)"),
    _more("pmak-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _more("nrak-", r"NR(?:AK|JS|II|IQ)-[A-Za-z0-9_-]{19,}", "nrjs-", "nrii-", "nriq-"),
    _more("nral", r"[0-9a-f]{36}NRAL(?!\w)"),
    _more("r8_", r"r8_[A-Za-z0-9]{30,}"),
    _more("sbp_", r"sbp_(?:oauth_|v0_)?[0-9a-f]{40}"),
    _more("sb_secret_", r"sb_secret_[\w-]{20,}"),
    _more("pscale_", r"pscale_(?:tkn|oauth|pw|app_secret)_[\w.=-]{30,}"),
    _more("nf", r"nf[pcoub]_[A-Za-z0-9]{36,}"),
    _more("pul-", r"pul-[0-9a-f]{40}"),
    _more("dp.", r"dp\.(?:pt|st|ct|sa|scim|audit|said)\.(?:[\w-]{1,40}\.)?[A-Za-z0-9]{40,}"),
    _more("pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _more("key-", r"key-[0-9a-f]{32}(?!\w)"),
    _more("access_token$", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"),
    _more("at", r"AT(?:ATT3|CTT3|STT3|BB)[\w=-]{28,}"),
    _more("hv", r"hv[sbr]\.[\w-]{20,}"),
    _more("s.", r"[sb]\.(?=[A-Za-z0-9]{0,23}\d)(?=[a-z0-9]{0,23}[A-Z])[A-Za-z0-9]{24}(?![\w.])", "b."),
    _more(".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}"),
    _more("lin_", r"lin_(?:api|oauth|wh)_\w{20,}"),
    _more("eaaa", r"EAAA[\w-]{60}(?![\w-])"),
    _more("sq0atp-", r"sq0atp-[\w-]{22}"),
    _more("eaa", r"EAA[A-Za-z0-9]{80,}"),
    _more("do", r"do[opr]_v1_[0-9a-f]{64}"),
    _more("cf", r"cf(?:ut|at|pat|k)_[\w-]{32,}"),
    _more("v1.0-", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{140,}"),
    _more("fm", r"fm[12][ar]?_[A-Za-z0-9+/=,_]{40,}"),
    _more("fo1_", r"fo1_[\w-]{43}"),
    _more("hrku-", r"HRKU-[\w-]{36,}"),
    _more("x", r"x(?:keysib|smtpsib)-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _more("re_", r"re_(?=[A-Za-z_]{0,30}\d)[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"),
    _more("lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    _more("ls__", r"ls__[0-9a-f]{32}"),
    _more("pcsk_", r"pcsk_[A-Za-z0-9]{5,8}_[A-Za-z0-9]{50,}"),
    _more("sl.", r"sl\.(?:u\.)?[\w-]{100,}"),
    _more("tfp_", r"tfp_[\w-]{40,}"),
    _more("dt0", r"dt0[a-z]\d\d\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}"),
    _more("cmvmdgtu", r"cmVmdGtuOj[A-Za-z0-9+/=]{40,}"),
    _more("cio", r"cio[A-Za-z0-9]{32}(?!\w)"),
    _more(".", r"[MNO][A-Za-z\d]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])"),
    _more("oy2", r"oy2[a-z0-9]{43}(?!\w)"),
    _more("ops_eyj", r"ops_eyJ[\w+/=-]{80,}"),
    _more("a3-", r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}"),
    _more("apa91b", r"AAAA[\w-]{7}:APA91b[\w-]{60,}"),
    _more("/", r"\d/\d{10,20}(?:/\d{10,20})?:[0-9a-f]{32}(?!\w)"),
    _more("sq", r"sq[upa]_[0-9a-f]{40}"),
    _more("cci", r"CCI(?:PAT|PRJ)_[A-Za-z0-9]{22}_[0-9a-f]{40}"),
    _more("sk.eyj", r"sk\.eyJ[\w-]{20,}\.[\w-]{16,}"),
    _more("rubygems_", r"rubygems_[0-9a-f]{48}"),
    _more("api_org_", r"api_org_[A-Za-z0-9]{30,}"),
    _more("1//", r"1//0[\w-]{40,}"),
    _more("nvapi-", r"nvapi-[\w-]{50,}"),
    _more("fw_", r"fw_[A-Za-z0-9]{20,}"),
    _more("tgp_v1_", r"tgp_v1_[\w-]{40,}"),
    _more("jina_", r"jina_[0-9a-f]{32}[\w-]{20,}"),
    _more("tvly-", r"tvly-(?:dev-|prod-)?[A-Za-z0-9-]{28,}"),
    _more("fc-", r"fc-[0-9a-f]{32}(?!\w)"),
    _more("e2b_", r"e2b_[0-9a-f]{40}"),
    _more("sk_", r"sk_[0-9a-f]{48}(?!\w)"),
    _more("bb_live_", r"bb_live_[\w-]{20,}"),
    _more("vercel_blob_rw_", r"vercel_blob_rw_[A-Za-z0-9]{10,}_[A-Za-z0-9]{20,}"),
    _more("vc", r"vc[kpiar]_[A-Za-z0-9]{24,}"),
    _more("rnd_", r"rnd_[A-Za-z0-9]{28,}"),
    _more("phx_", r"phx_[A-Za-z0-9]{32,}"),
    _more("pat-", rf"pat-(?:na|eu)\d-{_UUID}"),
    _more("00d", r"00D[A-Za-z0-9]{12,15}![\w.]{80,}"),
    _more("sha256~", r"sha256~[\w-]{43}"),
    _more("absk", r"ABSK[A-Za-z0-9+/]{100,}={0,2}"),
    _more("bk", r"bk(?:ua|at|aj|ct)_[0-9a-f]{40}"),
    _more("cfpat-", r"CFPAT-[\w-]{40,}"),
    _more("kgat_", r"KGAT_[0-9a-f]{32}"),
    _more("rzp_live_", r"rzp_live_[A-Za-z0-9]{14,}"),
    _more("flwseck", r"FLWSECK(?:_TEST)?-[0-9a-f]{32}-X"),
    _more("access-", rf"access-(?:sandbox|development|production)-{_UUID}"),
    _more("shippo_", r"shippo_(?:live|test)_[0-9a-f]{40}"),
    _more("duffel_", r"duffel_(?:live|test)_[\w=-]{43}"),
    _more("ez", r"EZ[AT]K[A-Za-z0-9]{54}"),
    _more("fio-u-", r"fio-u-[\w-]{64}"),
    _more("pn", r"pn[ub]_[A-Za-z0-9]{36}"),
    _more("_", r"[123][A-Za-z0-9]{26}_[A-Za-z0-9]{20,22}(?!\w)"),
    _more("ltai", r"LTAI[A-Za-z0-9]{17,21}(?!\w)"),
    _more("akid", r"AKID[A-Za-z0-9]{32}(?!\w)"),
    _more("ico-", r"ico-[A-Za-z0-9]{32}(?!\w)"),
    _more("rdme_", r"rdme_[0-9a-z]{70}"),
    _more("aio_", r"aio_[A-Za-z0-9]{28}(?!\w)"),
    _more("mlsn.", r"mlsn\.[0-9a-f]{64}"),
    _more("npg_", r"npg_[A-Za-z0-9]{12,}"),
    _more("napi_", r"napi_[a-z0-9]{60,}"),
    _more("xau_", r"xau_[A-Za-z0-9]{32,}"),
    _more("signkey-", r"signkey-(?:prod|test|branch)-[0-9a-f]{32,}"),
    _more("tr_", r"tr_(?:dev|prod|stg|pat)_[A-Za-z0-9]{20,}"),
    _more("pdl_", r"pdl_(?:live|sdbx)_apikey_\w{26,}"),
    _more("_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    _more("sgp_", r"sgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}"),
    _more("pat.", r"pat\.[\w-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}"),
    _more("q~", r"[\w~.]{3}\dQ~[\w~.-]{31,34}"),
    _more("jqqj99", r"[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}"),
    _more("v1.", r"v1\.[0-9a-f]{40}(?!\w)"),
    _more("xoxe", r"xoxe(?:\.xox[bp])?-\d-[A-Za-z0-9]{80,}"),
    _more("testsk_", r"(?:testsk|sk_prod|sk_dev)_[\w-]{20,}", "sk_prod", "sk_dev"),
    _more("whsec_", r"whsec_[A-Za-z0-9+/=]{16,}"),
    _more("gitea_", r"git(?:ea|lab)_[0-9a-f]{40}"),
    _more("hooks.zapier", r"hooks\.zapier\.com/hooks/catch/\d+/\w{6,}"),
    _more("/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d{15,20}/[\w-]{60,}"),
    _more("webhook.office", r"[\w.-]{1,60}\.webhook\.office\.com/webhookb2/[\w@-]{30,120}/IncomingWebhook/[\w/-]{30,}"),
    _more("maker.ifttt", r"maker\.ifttt\.com/trigger/\w{1,60}/(?:json/)?with/key/[\w-]{20,}"),
)  # fmt: skip
_BEGINS_LITERALLY = re.compile(r"[A-Za-z0-9]{1,2}(?![{?*+])")
_LITERAL = tuple(
    Rule("token", hints, token(pattern), "", "")
    for hints, pattern in _MORE
    if _BEGINS_LITERALLY.match(pattern)
)
_OTHERS = tuple(
    Rule("token", hints, token(pattern), "", "")
    for hints, pattern in _MORE
    if not _BEGINS_LITERALLY.match(pattern)
)
MORE = (*_LITERAL, *_OTHERS)
"""The less common ones."""
TOKENS = (joined((*PREFIXED, *_LITERAL)), *VENDORS, *_OTHERS)
"""All of them, as they are looked for; none has a blank in it."""
