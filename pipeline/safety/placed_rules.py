"""What is a secret by where it stands: in a URL, a header, a command line, a file of settings.

Each rule stands with an example that it finds, the secret in ``«»``, and one that it must leave alone; a
``~`` in an example is dropped first.
"""

from __future__ import annotations

from pipeline.safety.rule import Rule

_ARGUMENT = (
    r"(?:(?P<q>[\"'])(?P<value>[^\"'\n]{3,200})(?P=q)|(?P<value2>[^\s\"'|;&<>`-][^\s\"'|;<>`]{2,200}))"
)
"""One argument of a command; a rule's value is in ``value`` or ``value2``."""
_TO = r"[^\n|;]{0,200}?\s"
_UPPER = r"[A-Z0-9_]*(?:PASS(?:WORD|WD)?|PWD|SECRET|TOKEN|KEY|CREDENTIALS?|_PW|_PSK)[A-Z0-9_]*"
_SECRET_NAME = r"(?:pass|pwd|secret|token|sess|sid\b|auth|csrf|xsrf|jwt|remember|api_?key|login|ticket)"


def _run(program: str) -> str:
    return rf"(?<![\w.-])(?:{program})(?![\w-])"


URLS = (
    Rule("url-password", ("://",), r"://[^\s/:@'\"<>\[]{0,200}:(?P<value>[^\s/'\"<>]{1,300})@",
         "postgres://bob:«s3cr3t»@db.local/shop", "https://example.com:8080/a@b and ssh://git@github.com:foo/bar"),
    Rule("url-password", ("://",), r"://(?P<value>[A-Za-z0-9_-]{20,200})(?::x-oauth-basic)?@",
         "git clone https://«0123456789abcdefghijABCD»@git.example.org/x.git", "https://git@git.example.org/x.git"),
    Rule("url-password", ("@//", "thin:"), r"(?<![\w/.])[A-Za-z][\w$.]{0,40}/[\"']?(?P<value>[^\s/@\"']{4,64})[\"']?@(?://)?[\w.-]+",
         "jdbc:oracle:thin:scott/«TDAeT0ZJs»@//ora1:1521/XE", "jdbc:oracle:thin:@//ora1:1521/XE"),
    Rule("url-secret", ("?", "&", ";"),
         r"(?i)[?&;](?:[\w-]*(?:token|secret|passw(?:or)?d|password|pwd)|(?:x-(?:amz|goog)-|oauth_)?sig(?:nature)?|"
         r"[\w-]*api[_-]?key|app_?(?:id|key)|(?:auth|access|subscription|function|account|shared)[_-]?key|key|auth|"
         r"code|jwt|sas|hmac|session(?:_?id)?|sid|ticket|invite|credential)=(?P<value>(?=[^\s&\"'<>#]*\d)[\w%.~+/=-]{16,})",
         "https://x.blob.example/d?sv=2023&sig=«UYk3FWedE47uQMjYeOfp%3D» fails", "https://shop.example/?key=name-of-a-page", digits=True),
)  # fmt: skip

HEADERS = (
    Rule("header", ("authorization",), r"(?i)\bauthorization[\"']?\s{0,3}[:=,]>?\s{0,3}[\[({\"'` ]{0,4}(?:digest|oauth|aws4-hmac-sha256)\s[^\n]{1,800}",
         'Authorization: Digest username="bob", response="«c32c7d9f8097fd775700e8726ded2fe3»"',
         'Authorization: Digest username="bob", realm="cam"',
         inner=r"(?i)\b(?:response|oauth_token|oauth_signature|signature)=\"?(?P<value>[\w%+/=.-]{12,})"),
    Rule("cookie", ("cookie",), r"(?i)(?<![\w-])(?:set-)?cookies?[\"']?\s{0,3}[:=]\s{0,3}[\"']?[^\n]{8,4000}",
         "Cookie: theme=dark; sessionid=«ze7xmm1mjf871wb0» sent", "cookie: theme=dark; lang=en; consent=1",
         inner=rf"(?i)(?<![\w.-])(?:[\w.-]*{_SECRET_NAME}[\w.-]*(?:=|[\"']:\s?[\"'])(?P<value>(?=[^\s;,\"']*\d)[^\s;,\"']{{8,}})"
               r"|[\w.-]+=(?P<value2>(?=[^\s;,\"']*\d)(?=[^\s;,\"']*[A-Za-z])[\w%.~+/=-]{16,}))", digits=True),
    Rule("cookie", ("-b ", "--cookie"), r"(?:(?<=\s)|^|(?<=[\"'(]))(?:-b|--cookie)[ =][\"']?[\w.-]+=[^\n\"']{8,2000}",
         "curl -b 'sid=«s%3AD4MACaLkrUMUYUkE»' x", "set -b 'colour=dark-blue-as-night' x",
         inner=r"=(?P<value>(?=[^\s;\"']*\d)(?=[^\s;\"']*[A-Za-z])[\w%.~+/=-]{12,})", digits=True),
)  # fmt: skip

COMMANDS = (
    Rule("password", ("--", "-pass", "pass ", "token", "secret", "key", "-psk", "-pin"),
         r"(?i)(?<![\w-])--?(?:[a-z]+-){0,3}(?:password|passwd|passphrase|pass|pwd|token|secret|api-?key|auth-?key|access-?key|"
         r"account-key|secret-?key|secret-access-key|storepass|keypass|authtoken|psk|pin|otp|sas-token|"
         rf"adminpw|user-pass|rootpw)(?:[ \t]+|=)(?!pass:|env:|file:|fd:){_ARGUMENT}",
         "mysql --password «hunter2» shop", "mysql --password --host db"),
    Rule("password", ("curl", "wget", "http", "xh "),
         _run("curl|wget|https?|xh") + rf"{_TO}(?:-u|--user|--proxy-user|-U|-a|--auth)[ =]?\s*[\"']?[\w.@-]+:(?P<value>[^\s\"']+)",
         "curl -u bob:«hunter2» http://x", "curl -u bob http://x"),
    Rule("password", ("mysql", "maria", "mycli"),
         _run(r"my(?:sql\w*|cli)|maria\w*(?:-\w+)?") + rf"{_TO}-p(?:(?P<q>[\"'])(?P<value>[^\"'\n]{{3,}})(?P=q)|(?P<value2>[^\s\"'$]\S{{2,}}))",
         "mysql -u root -p«3ettzYfjQ» shop", "mysql -u root -p shop"),
    Rule("password", ("sshpass",), _run("sshpass") + rf"[^\n|;]{{0,20}}?\s-p\s?{_ARGUMENT}",
         "sshpass -p «Tulip94!» ssh bob@host", "sshpass -e ssh -p 2222 bob@host"),
    Rule("password", ("login",), r"(?<![\w-])login\b" + rf"[^\n|;]{{0,160}}?\s-[pP]\s?(?!\d+\b){_ARGUMENT}",
         "docker login -u bob -p «monkey-Thunder35» r.example", "docker login -u bob --password-stdin"),
    Rule("password", ("mongo",), _run(r"mongo\w*") + rf"{_TO}-p\s{_ARGUMENT}",
         "mongosh -u admin -p '«rocket-Cobalt50»' x", "mongosh -u admin -p"),
    Rule("password", ("htpasswd",), _run("htpasswd") + rf"\s+-\w*b\w*(?:\s+-\w+)*\s+(?:(?<=n[bBdsm]\s)|(?<=n[bBdsm][bBdsm]\s)|\S+\s+)\S+\s+{_ARGUMENT}",
         "htpasswd -bc /etc/x diego «rocket+Tulip44»", "htpasswd -c /etc/x diego"),
    Rule("password", ("redis",), _run(r"redis-(?:cli|benchmark)") + rf"{_TO}-a\s{_ARGUMENT}",
         "redis-cli -h x -a «l8KCqDeI9» INFO", "redis-cli -h x -p 6379 ping"),
    Rule("password", ("pass:",), r"\s-(?:pass|passin|passout|k)\s+[\"']?pass:(?P<value>[^\s\"']{3,})",
         "openssl enc -d -pass pass:«OLGtQS0v2E9» -in x", "openssl enc -d -pass pass:$PW"),
    Rule("password", ("openssl",), _run("openssl") + rf"{_TO}-k\s(?!pass:)(?!\S*/){_ARGUMENT}",
         "openssl enc -aes-256-cbc -k «Sanctus-3ach» -in a", "openssl enc -aes-256-cbc -kfile pass.txt"),
    Rule("password", ("7z", "rar"), _run("7z[ar]?|7zz|rar|unrar") + rf"{_TO}(?:(?P<o>[\"'])-h?p(?P<value3>[^\"'\n]{{3,}})(?P=o)|-h?p(?:(?P<q>[\"'])(?P<value>[^\"'\n]{{3,}})(?P=q)|(?P<value2>[^\s\"'$-]\S{{2,}})))",
         "7z x a.7z -p«Po5ukVCtAduD» -oout", "7z x a.7z -p -oout"),
    Rule("password", ("zip",), _run("(?:un)?zip|zipcloak") + rf"{_TO}-P\s?{_ARGUMENT}",
         "zip -r -P «RL7QIvomwLFh» a.zip d/", "zip -r a.zip d/"),
    Rule("password", ("-u ",), _run(r"smb\w+|rpcclient|net|crackmapexec|impacket-\w+") + rf"{_TO}-U\s?[\"']?[\w.\\/-]+%(?P<value>[^\s\"']{{3,}})",
         "smbclient -U bob%«hunter2x» //h/s", "smbclient -U bob //h/s"),
    Rule("password", ("ldap", "ipmitool", "sqlcmd", "bcp", "mosquitto", "snmp", "isql", "tsql", "influx", "vncviewer"),
         _run(r"ldap\w+") + rf"{_TO}-w\s{_ARGUMENT}|" + _run(r"ipmitool|sqlcmd|bcp|mosquitto_\w+|isql|tsql")
         + rf"{_TO}-P\s?[\"']?(?P<value3>[^\s\"'$-][^\s\"']{{2,}})",
         "ldapsearch -D cn=x -w «hunter2x» -b y", "ldapsearch -D cn=x -W -b y"),
    Rule("password", ("-u ", "--user"),
         r"(?m:^)(?![^\n]*(?:mysql|maria|mycli))[^\n]*?\s(?:-u|--user(?:name)?)[ =](?!-)\S+\s(?:[^\n|;&]{0,120}?\s)?-p[ =](?:(?P<q>[\"'])(?P<value>[^\"'\n]{4,200})(?P=q)|"
         r"(?P<value2>(?=[^\s]*\d)(?=[^\s]*[A-Za-z])(?![\d.:]+(?:/(?:tcp|udp))?(?:\s|$))[^\s\"'$<-][^\s\"']{3,}))",
         "cqlsh -u cass -p «Lantern2001x» db1", "docker run -u root -p 127.0.0.1:80:80 img2"),
    Rule("password", (" -p", " -a ", " -w "), r"(?<=\s)-[pPaw][ =]?(?P<q>[\"']?)(?=\S*\d)(?=\S*[A-Za-z])(?=\S*[!#%^&*?~+])(?P<value>[^\s\"'/\\{}()\[\]<>|;=:,]{8,64})(?P=q)(?=\s|$)",
         "az sql server create -u boss -p «Gl4sbruch!x» -n s", "mkdir -p build/x2+y && cut -w 'a b'"),
    Rule("password", ("ssh-keygen", "plink", "pscp", "psftp", "snmp"),
         _run("ssh-keygen") + rf"{_TO}-[NP]\s{_ARGUMENT}|" + _run("plink|pscp|psftp|kitty|putty") + rf"{_TO}-pw\s[\"']?(?P<value3>[^\s\"']{{3,}})",
         "plink -pw «hunter2x» bob@h", "ssh-keygen -t ed25519 -N ''"),
    Rule("password", ("snmp",), _run(r"snmp\w+") + r"[^\n|;]{0,300}", "snmpwalk -v3 -u bob -A «hunter2x» -l authNoPriv h", "snmpwalk -v3 -u bob -l noAuth h",
         inner=r"\s-[AXc]\s[\"']?(?P<value>[^\s\"'$-][^\s\"']{5,})"),
    Rule("password", ("--user", "-u "), _run("etcdctl|lftp|ncftp\\w*|ftp") + rf"{_TO}(?:-u|--user)[ =][\"']?[\w.@-]+[:,](?P<value>[^\s\"']{{3,}})",
         "lftp -u bob,«hunter2x» sftp://h", "lftp -u bob sftp://h"),
    Rule("password", ("--value", "--body", "-b "),
         r"(?i)(?:--name|secret\s+set)[ =][\"']?\S*(?:pass|pw|secret|token|key)\S*\s[^\n|;]{0,120}?(?:--value|--body|-b)[ =](?:(?P<q>[\"'])(?P<value>[^\"'\n$]{4,400})(?P=q)|(?P<value2>[^\s\"'$<-]\S{3,}))",
         "aws ssm put-parameter --name /x/db_password --value «hunter2x»", "gh secret set API_TOKEN --body $TOKEN"),
    Rule("password", ("-d",), r"(?<![\w-])-[DP][\w.]*(?:[pP]assword|[pP]asswd|[tT]oken|[sS]ecret|[aA]pi[kK]ey|Pass)=[\"']?(?P<value>[^\s\"'$]{4,})",
         "mvn deploy -Drepo.password=«hunter2x»", "mvn deploy -Drepo.password=$PW"),
    Rule("otp", ("oathtool",), r"(?i)oathtool\b[^\n]{0,80}?\s[\"']?(?P<value>[a-z2-7]{12,}=*|[0-9a-f]{20,})",
         "oathtool --totp -b «N2TDFS2GKNLY6FGC»", "oathtool --totp -b SECRET"),
)  # fmt: skip
"""What is the value of an option, and so needs a hyphen behind a blank."""

STATEMENTS = (
    Rule("password", ("echo", "printf", "<<<"),
         r"(?<![\w-])(?:echo|printf)(?:\s+-\w+)?\s+(?P<q>[\"']?)(?:(?<=\")[\w.-]+:|(?<=')[\w.-]+:|\w+:(?=\S+\s*\|\s*(?:sudo\s+)?chpasswd))?"
         r"(?P<value>[^\"'\n|]{3,200}?)(?:\\n)?(?P=q)\s*\|\s*(?:[^\n|]{0,80}-stdin\b|(?:sudo\s+)?(?:sudo\b[^\n|]{0,20}\s-\w*S|chpasswd|passwd\b|kinit|"
         r"cryptsetup|su\b|smbpasswd|gpg\b[^\n|]{0,80}passphrase-fd|openssl\b[^\n|]{0,80}stdin|veracrypt|gh\s+auth))",
         "echo '«CORxaNe7#MHXP^B»' | sudo -S reboot", "echo done | sudo tee /etc/x"),
    Rule("password", ("<<<",),
         r"(?<![\w-])(?:sudo\b[^\n|;<]{0,20}\s-\w*S|su|passwd|chpasswd|cryptsetup|veracrypt|gpg|restic|borg|kinit|smbpasswd|openssl|ansible-vault|docker|podman|gh\s+auth|age|pass\s+insert|mysql_config_editor)"
         r"\b[^\n|;<]{0,120}<<<\s*(?P<q>[\"']?)(?:\w+:(?=\S+[\"']?\s*$))?(?P<value>(?:[^\"'\n$]|\$(?![A-Za-z{(])){4,200})(?P=q)",
         'sudo -S apt upgrade <<< "«meadow_Velvet44»"', 'sudo -S apt upgrade <<< "$PW"'),
    Rule("password", ("echo", "printf"),
         r"(?<![\w-])(?:echo|printf)(?:\s+-\w+|\s+['\"]%s(?:\\n)?['\"])?\s+(?:(?P<q>[\"'])(?P<value>(?:[^\"'\n$]|\$(?![A-Za-z{(])){4,400})(?P=q)|(?P<value2>[^\s\"'$<>|][^\s\"'<>|]{3,}))\s*"
         r"(?:>>?\s*[\"']?[\w./~$-]*?(?:(?<![a-z])(?:pass(?:word|wd|phrase|file)?|pwd?|secret|token|cred|credential|psk)s?(?![a-z])|[_.]key)[\w./-]*|\|\s*(?:sudo\s+)?(?:tee\s+\S*(?:pass|secret|token)\S*|(?:docker|podman)\s+secret|su\b|kubectl\s+create\s+secret|gh\s+secret\s+set|wg\s+set|pass\s+insert|vault\s+kv\s+put))",
         'echo "«P1donFYzaNu»" > .vault_pass && x', "echo done2day > passed.txt"),
    Rule("password", ("mysqladmin", "encrypt_string", "obscure", "bw ", "_pw ", "nmcli", "iwconfig", "net user", "user-secrets", "password-command"),
         r"mysqladmin\b[^\n|;]{0,120}?\spassword\s+[\"']?(?P<value>[^\s\"'$]{4,})|(?:encrypt_string|rclone\s+obscure|bw\s+unlock|(?:user|owner|input)_pw|"
         r"nmcli\b[^\n|;]{0,120}?(?:\spassword|psk)|net\s+user\s+\w+|user-secrets\s+set\s+\S+|--password-command\s+['\"]echo)\s+[\"']?(?P<value2>(?![/-])[^\s\"'$]{4,})",
         "nmcli dev wifi connect home password «hunter2x»", "nmcli dev wifi connect home password $PW"),
    Rule("password", ("setx ", "setenv ", "env ", "environmentvariable(", ".put(", "define("),
         rf"(?:(?:(?<!\w)setx|(?<!\w)setenv|(?m:^)ENV)\s+|(?:SetEnvironmentVariable|\w\.put|\bdefine|setdefault)\(\s*)[\"']?(?P<name>{_UPPER})[\"']?\s*,?\s*"
         r"(?:(?<=[\s,])(?P<q>[\"'])(?P<value>[^\"'\n$]{6,400})(?P=q)|(?<=\s)(?P<value2>[^\s\"'$=%{(]\S{5,}))",
         "setx DB_PASSWORD «hunter2x» /M", "ENV API_TOKEN_NAME internal-token"),
    Rule("password", ("mc ",), _run("mc") + r"\s+alias\s+set\s+\S+\s+\S+\s+\S+\s+[\"']?(?P<value>[^\s\"'$-][^\s\"']{5,})",
         "mc alias set m https://h a «Pimpinelle31»", "mc alias set m https://h"),
    Rule("password", ("enable ", "username ", "community ", "-server key", "neighbor ", "wpa-psk", "pre-shared-key"),
         r"(?m)(?:^|(?<=[>#;]) ?|(?<=\s))(?:enable (?:secret|password)|username \S+ (?:privilege \d+ )?(?:secret|password)|snmp-server community|(?:radius|tacacs)-server key|neighbor \S+ password|"
         r"wpa-psk ascii|pre-shared-key(?: \S+ key)?) (?:(?:level )?\d{1,2} )?(?P<value>(?!(?:public|private|address|local|remote)\b)(?=\S*[\dA-Z])[^\s\"'$<{]{6,100})",
         "enable secret 0 «Window1992!»", "snmp-server community public RO"),
    Rule("password", (":*:", ":5432:", ":5433:", ":6432:"), r"(?m)^[\w.*-]{1,100}:(?:\d{4,5}|\*):[\w*-]{1,60}:[A-Za-z*][\w.*-]{0,60}:(?P<value>(?=[^\s:]*[\d!@#%^&+=])[^\s:]{6,100})$",
         "db.internal:5432:*:app:«mGNCpAJ7DesGSD»", "127.0.0.1:5432:5432:postgres:alpine"),
    Rule("password", ("%3a%2f%2f", "&#61;", "&#x3d;", "&quot;"),
         r"(?i)%3A%2F%2F[\w.-]*%3A(?P<value>(?:[^\s%&\"'<>]|%(?!40|3A|2F)[0-9a-f]{2}){4,200})%40|(?<![a-z])(?:pass(?:word|wd)?|pwd|secret|(?:[a-z]+_)?token|api_?key)&#(?:61|x3d);(?P<value2>[^&\s\"'<>]{4,200})|"
         r"&quot;(?:password|passwd|pwd|secret|[a-z_]*token|api_?key)&quot;\s?:\s?&quot;(?P<value3>[^&\s\"'<>]{4,200})&quot;",
         "url=postgres%3A%2F%2Fapp%3A«hunter2x»%40db%2Fshop", "see https%3A%2F%2Fexample.org%3A8080%2Fx", digits=True),
    Rule("token", ("bitlocker", "recovery key", "recovery password", "wiederherstellungsschl"), r"(?<![\d-])(?:\d{6}-){7}\d{6}(?![\d-])",
         "the recovery key is «526018-159083-016613-186091-390996-030824-628194-821993»", "the recovery key of drive 526018-159083", digits=True),
    Rule("private-key", ("private-lines", "openvpn static"),
         r"(?s)(?:Private-Lines: \d{1,3}\r?\n|BEGIN OpenVPN Static key V1-----\r?\n)(?P<value>[A-Za-z0-9+/=\s]{40,8000}?)(?=\n(?:Private-MAC|-----END)|\Z)",
         "Private-Lines: 1\n«6+iYplGODlYx5uVECweGThdgH9hmsOazM4n8PVGXpV9Wv4Es»\nPrivate-MAC: x", "Private-Lines: 1"),
    Rule("token", ("private-key", "genkey", "genpsk"), r"(?i)(?:\bgen(?:key|psk)\b|private-key)[^\n]{0,60}?(?<![\w+/])(?P<value>[A-Za-z0-9+/]{43}=)(?![\w+/=])",
         "wg genkey gave «P0ML0zx+wr68GBnzPjNB8aIjMIsUxbuS7KRdysReM2s=»", "wg genkey | tee private.key"),
    Rule("password", ("/user:",), r"(?i)/user:\S+\s+(?!/)[\"']?(?P<value>[^\s\"'/*][^\s\"']{3,})|\bnet\s+use\b[^\n]{0,200}?\s(?!/|\\\\|[a-z]:|\*)(?P<value2>\S{4,})\s+/user:",
         r"net use Z: \\nas\data /user:CORP\pavel «winter-Winter66»", r"net use Z: \\nas\data /user:CORP\pavel /persistent:yes"),
    Rule("password", ("/p:", "/pass:", "/password:"), r"(?i)\s/p(?:ass(?:word)?)?:[\"']?(?P<value>[^\s\"'$%]{4,})",
         "xfreerdp /u:bob /p:«hunter2x» /v:h", "msbuild /p:$X"),
    Rule("password", ("sqlplus", "sqlldr", "expdp", "impdp"), _run("sqlplus|sqlldr|expdp|impdp") + r"\s+(?:-\w+\s+)*[\w.]+/[\"']?(?P<value>[^\s\"'@/]{3,})",
         "sqlplus scott/«t1ger-made»@db", "sqlplus / as sysdba"),
    Rule("password", ("rabbitmqctl", "wpa_passphrase", "chpasswd"),
         r"rabbitmqctl\s+(?:add_user|change_password|authenticate_user)\s+\S+\s+[\"']?(?P<value>[^\s\"']{4,})|wpa_passphrase\s+(?:\"[^\"]+\"|\S+)\s+[\"']?(?P<value2>[^\n\"']{8,63})",
         "rabbitmqctl add_user bob «hunter2x»", "rabbitmqctl list_users bob there"),
    Rule("password", ("identified", "password '", 'password "', "pragma key", "pragma rekey"),
         r"(?i)\b(?:identified\s+(?:with\s+\w+\s+)?by|(?:with|encrypted|login)\s+password|\bpassword|pragma\s+(?:re)?key)\s*=?\s*(?P<q>['\"])(?P<value>[^'\"\n]{3,200})(?P=q)",
         "ALTER USER bob WITH PASSWORD '«hunter2x»';", "GRANT ALL ON x TO bob IDENTIFIED BY PASSWORD"),
    Rule("password", ("requirepass", "masterauth"), r"(?m)\b(?:requirepass|masterauth)\s+[\"']?(?P<value>[^\s\"'$<]{4,})",
         "requirepass «hunter2x»", "requirepass $PASS"),
    Rule("password", ("password",), r"(?i)(?:\bmachine\s+\S{1,100}\s+login\s+\S{1,100}\s+password\s+(?P<value>\S{4,})|\blogin\s+\S{1,100}\s+password\s+(?P<value2>(?=\S*\d)\S{6,}))",
         "machine h login ci password «70ea82ac9802»", "the login and the password box"),
    Rule("token", ("login", "auth", "config set", "configure set", "nuget", "gem ", "-k "),
         r"(?<![\w-])(?=[cvpdwhrsfnjgoay])(?:(?:cargo|vault|pulumi|doppler|wandb|huggingface-cli|hf|railway|snyk|flyctl|fly|npm|jfrog|gh|op|netlify|sentry-cli|ngrok)"
         r"\s+(?:auth\s+|config\s+)?(?:login|auth|add-authtoken|set-token)|nuget\s+(?:push|setapikey)\b[^\n]{0,120}?\s(?:-k|-ApiKey|--api-key)"
         r"|aws\s+configure\s+set\s+\w*(?:secret|token)\w*|(?:npm|yarn|pnpm|pip|composer)\s+config\s+(?:set\s+)?\S*(?:auth|token|password)\S*)"
         r"[ =][\"']?(?P<value>(?=\S*\d)\w[\w.~+/=-]{11,})",
         "cargo login «cratesmadeup0123456789»", "vault login -method=oidc-2026-flow", digits=True),
)  # fmt: skip

_SETTING = r"[\w.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|private[_-]?key|encryption[_-]?key|access[_-]?key)[\w.-]*"
FILES = (
    Rule("password", ("<property",), rf"(?i)<property\s+name=\"{_SETTING}\">(?P<value>[^<>\n$]{{4,400}})<",
         '<property name="db.password">«hunter2x»</property>', '<property name="db.password">${PW}</property>'),
    Rule("password", ("value=", "value\"", "value:", "value ="), rf"(?i)(?:key|name)\s*[=:]\s*[\"']?(?P<name>{_SETTING}|\w+_(?:KEY|PASS|PAT|AUTH))[\"']?\s*,?\s+[\"']?value[\"']?\s*[=:]\s*"
         r"(?:(?P<q>[\"'])(?P<value>[^\"'\n]{4,400})(?P=q)|(?P<value2>[^\s\"'{<$]\S{3,}))",
         '<add key="EncryptionKey" value="«mQoI+lM15VyILB0S»" />', '- name: DB_PASSWORD\n  value: ${DB_PASSWORD}'),
    Rule("password", ("</",), rf"(?i)<(?P<name>{_SETTING})(?:\s[^<>]{{0,100}})?>(?P<value>[^<>\s]{{4,400}})</(?P=name)>",
         "<server><password>«hunter2x»</password></server>", "<password>${env.PASS}</password>"),
    Rule("password", ("<string",), rf"(?i)(?:<key>(?P<name>{_SETTING})</key>\s*<string>|<string\s+name=\"{_SETTING}\">)(?P<value>[^<>\n]{{4,400}})<",
         "<key>ApiToken</key> <string>«hunter2x»</string>", "<key>Title</key> <string>Password</string>"),
    Rule("password", ("default",), r"(?is)variable\s+\"(?P<name>[^\"\n]*(?:password|secret|token|key)[^\"\n]*)\"\s*\{[^{}]{0,400}?default\s*=\s*\"(?P<value>[^\"\n]{4,})\"",
         'variable "db_password" {\n  default = "«marble_Thunder08»"\n}', 'variable "db_password" {\n  type = string\n default = null }'),
    Rule("password", ("wifi:",), r"WIFI:[^\n]{0,200}?;P:(?P<value>[^;\n]{4,100});", "WIFI:T:WPA;S:x;P:«hunter2x»;;", "WIFI:T:nopass;S:x;;"),
    Rule("token", ("_auth", "_key", "_pat", "_salt", "_creds", "_cookie", "pepper", "_seed", "_license", "_signature", "_login"),
         r"(?<!\w)(?=\w{4,60}\s{0,3}[=:])(?![\w]*PUBLI(?:C|SHABLE))(?:\w*[A-Z0-9]_(?:KEY|PAT|SALT|AUTH|CREDS|COOKIE|SEED|LICENSE|SIGNATURE|PEPPER|LOGIN)|PEPPER|_auth)\s*[=:]\s*[\"']?"
         r"(?P<value>(?=[\w.~+/=:-]*\d)(?:base64:)?(?=[\w.~+/=-]*[A-Za-z])[\w.~+/=-]{16,})",
         "APP_KEY=«base64:ynDtcFy1iaqBILFqQAI7fiIV»", "NEXT_PUBLIC_MAP_KEY=ynDtcFy1iaqBILFqQAI7fiIV", digits=True),
    Rule("private-key", ("kty",), r"[\"'](?:d|dp|dq|qi|p|q|k)[\"']\s*:\s*[\"'](?P<value>[\w-]{40,})[\"']",
         '{"kty":"OKP","d":"«6R5aDT6mZck71oe7N3x4ViXC9g77y1bOeCvu0oEhOxj»"}', '{"kty":"OKP","x":"6R5aDT6mZck71oe7N3x4ViXC9g77y1bOeCvu0oEhOxj"}'),
    Rule("token", ('"auth"', "'auth'"), r"[\"']auth[\"']\s*:\s*[\"'](?P<value>(?=[^\"']*[A-Z])(?=[^\"']*\d)[A-Za-z0-9+/]{12,400}={0,2})[\"']",
         '{"auths":{"r.example.org":{"auth":"«Ym9iOmh1bnRlcjJ4»"}}}', '{"auth": "oauth2"}', digits=True),
    Rule("token", ("privatekey", "private key", "private_key", "preshared", "pre-shared"), r"(?i)\b(?:private|preshared|pre-shared)[ _-]?key\s*[=:]\s*[\"']?(?P<value>[A-Za-z0-9+/]{40,}={0,2})",
         "PresharedKey = «P0ML0zx+wr68GBnzPjNB8aIjMIsUxbuS7KRdysReM2s=»", "PrivateKey = /etc/wireguard/private.key"),
    Rule("otp", ("otpauth",), r"(?i)otpauth(?:-migration)?://[^\s\"'<>]{0,400}?(?:secret|data)=(?P<value>[A-Za-z0-9%+/=]{8,})",
         "otpauth://totp/x:bob?secret=«6IQNDB5QNRLQZLVA»&issuer=x", "otpauth://totp/ begins it"),
)  # fmt: skip

ANYWHERE = (
    Rule("cookie", ("\ttrue\t", "\tfalse\t"), rf"(?i)\t(?:true|false)\t\d+\t[\w.-]*{_SECRET_NAME}[\w.-]*\t(?P<value>\S{{12,}})",
         "a.example\tFALSE\t/\tTRUE\t1790000000\tsessionid\t«ze7xmm1mjf871wb0»", "a.example\tFALSE\t/\tTRUE\t1790000000\ttheme\tvery-dark-2026", digits=True),
    Rule("header", ("basic ",), r"(?<![\w-])(?:Basic|basic|BASIC)[ \t]+(?P<value>(?=[A-Za-z0-9+/]*\d)(?=[A-Za-z0-9+/]*[A-Z])(?=[A-Za-z0-9+/]*[a-z])(?:[A-Za-z0-9+/]{4}){3,60}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)(?![\w+/=])",
         "the log says Basic «dXNlcjpodW50ZXIy» there", "basic authentication2 is on", digits=True),
    Rule("header", ("authorization",),
         r"(?i)\bauthorization[\"']?\s{0,3}(?:[:=,]>?|(?=[ \t][\"']?(?:basic|bearer)))\s{0,3}[\[({\"'` ]{0,4}"
         r"(?:(?:bearer|basic|token|api-?key|negotiate|ntlm|hawk|key|bot|jwt|sso-key|genie-?key|splunk|private-token|"
         r"sharedaccesssignature|shared\s?key(?:lite)?|deepl-auth-key|discogs|zoho-oauthtoken|klaviyo-api-key|dpop)"
         r"\s+|(?:digest|oauth|aws4-hmac-sha256)\b(?!\s))?(?:[\w.-]+:)?(?P<value>(?!digest\s|oauth\s|aws4)[\w.~+/=-]{8,})",
         "say 'Authorization: Token «made-up-0123»' to it", "Authorization: Bearer $TOKEN"),
    Rule("password", ("psk",), r"(?i)(?<![a-z])(?:wpa[_-]|wifi-sec\.)?psk(?:\s*[=:]\s*|(?<=\.psk)\s+)[\"']?(?P<value>[^\s\"']{8,64})", 'psk="«hunter2x-made»"', "psk=none"),
    Rule("password", ("auth=", "auth =", "basicauth", "securestring"),
         r"(?i)(?:\bauth\s*=\s*[(\[]|basicauth\()\s*[\"'][^\"'\n]{1,100}[\"']\s*,\s*[\"'](?P<value>[^\"'\n]{4,200})[\"']|"
         r"convertto-securestring\s+(?:-string\s+)?[\"'](?P<value2>[^\"'\n]{4,200})[\"']",
         "get(u, auth=('bob', '«Sommer2026»'))", "get(u, auth=('bob', get_pass()))"),
    Rule("password", ("setpassword", "setsecret", "settoken", "setapikey", "passwd=", "passwd =", "pass:", "pass =", "_pw=", "pw="),
         r"(?i)\.set(?:password|secret|token|apikey)\(\s*[\"'](?P<value>[^\"'\n$]{4,400})[\"']\s*\)|(?<![a-z])(?:passwd|[a-z]*_?pass|[a-z0-9]*_pw)\s{0,2}[=:]\s{0,2}(?:!!str\s)?[\"'](?P<value2>(?!\s)[^\"'\n${]{4,200})[\"']"
         r"|(?<![a-z0-9])[a-z0-9]*_pw=(?P<value3>[^\s\"'$<{(]{6,})",
         'builder.setPassword("«hunter2x»");', "builder.setPassword(getPassword())"),
    Rule("header", ("bearer", "ssws"), r"(?i)\b(?:bearer|ssws)[ \t]+(?=[\w.~+/=-]*\d)(?P<value>[\w.~+/=-]{12,})",
         "sent as Bearer «abcdef0123456789» yesterday", "bearer of news 12345", digits=True),
    Rule("header", ("-key", "-token", "-secret", "-auth", "-password", "-session", "-signature"),
         r"(?i)(?<=[a-z0-9])(?<!idempotency)(?<!websocket)(?<!surrogate)(?<!cache)(?<!public)(?<!request)(?<!partition)"
         r"(?<!sort)(?<!foreign)(?<!primary)(?<!host)(?<!dedup)(?<!routing)(?<!map)(?<!ssh)(?<!registry)"
         r"-(?:key|token|secret|auth|password|session|signature(?:-\d+)?)[\"']?\]?\s{0,3}[:=,]>?\s{0,3}[\"']?(?:sha\d+=)?"
         r"(?P<value>(?=[\w.~+/=-]*\d)[\w.~+/=-]{8,})",
         "curl -H 'X-Api-Key: «made-up-0123»' http://x", "Idempotency-Key: made-up-0123", digits=True),
    Rule("otp", ("otp", "2fa", "mfa", "authentic", "scan the", "setup key", "factor", "faktor", "二段階", "двухфактор"),
         r"(?is)(?=[to2masdzqд二])(?:totp|otp|2fa|mfa|authenticator|scan the|setup key|two-factor|qr[ -]?code|zwei-?faktor|doble factor|double facteur|二段階|двухфактор).{0,160}",
         "the TOTP seed: «JBSWY3DPEHPK3PXPJBSWY3DP» ok", "the OTP window is 30 seconds and the CODE follows",
         inner=r"(?<![\w-])(?P<value>(?=[A-Z2-7]*\d)[A-Z2-7]{16,64}|(?=[a-z2-7 ]*\d)(?:[a-z2-7]{4}[ -]){3,15}[a-z2-7]{4}|(?=[A-Z2-7 ]*\d)(?:[A-Z2-7]{4}[ -]){3,15}[A-Z2-7]{4})(?![\w])", digits=True),
    Rule("otp", ("recovery", "backup", "rescue", "emergency", "scratch", "wiederherst", "einmal", "secours", "récup", "códigos", "codici di", "herstel"),
         r"(?is)(?:(?:recovery|backup|rescue|emergency|scratch)[ -]codes?|wiederherstellungscodes?|einmalcodes?|backup-?codes?|codes? de (?:secours|récupération)|"
         r"códigos? de (?:recuperación|recuperação)|codici di (?:recupero|backup)|herstelcodes?).{0,600}",
         "recovery codes:\n«6wysy-ueg74»", "recovery codes are printed on paper-sheets",
         inner=r"(?<![\w-])(?P<value>(?=[a-z-]*\d)[a-z0-9]{4,8}(?:-[a-z0-9]{4,8}){1,3}|(?=[A-Z-]*\d)(?=[0-9-]*[A-Z])[A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){1,3}|\d{4}[ -]\d{4}|(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{8,12}|\d{8,10})(?![\w-])",
         gate="code", digits=True),
    Rule("token", ("akia", "asia"), r"(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])[^\n]{1,2000}",
         "AKI~AFL3TAJ3VAYOIDMHU and «AKCWAVukNq7aHyfC4YO8OMlrrqFaeIEBhiRAEm0E»", "AKIA begins it and 40 letters follow",
         inner=r"(?<![\w+/=-])(?P<value>(?=[^\s]*[a-z])(?=[^\s]*[A-Z0-9])(?:[A-Za-z0-9+/]{40}|[A-Za-z0-9+/]{100,}={0,2}))(?![\w+/=-])"),
)  # fmt: skip

"""What needs none of the signs that `SIGNED` needs."""

SIGNED = (*HEADERS, *FILES, *URLS)
"""What has a colon, a sign of equality or a tag in it."""
PLACED = (*ANYWHERE, *STATEMENTS)
"""What needs neither these nor an option of a command."""
