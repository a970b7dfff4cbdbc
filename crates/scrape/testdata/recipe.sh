#!/usr/bin/env bash
# Makes the certificates of the TLS tests anew: an authority, a server for localhost and 127.0.0.1, a client. The keys
# are worth nothing: they are public, and nothing but tests trusts this authority.
set -euo pipefail
cd "$(dirname "$0")"
key() { openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1.key"; }
signed() { # NAME EXTENSIONS
    key "$1"
    openssl req -new -key "$1.key" -subj "/CN=$1" |
        openssl x509 -req -days 36500 -CA authority.pem -CAkey authority.key -set_serial "0x$(openssl rand -hex 8)" -extfile <(printf '%s\n' "$2") -out "$1.pem" 2>/dev/null
}
key authority
openssl req -x509 -new -key authority.key -days 36500 -subj "/CN=authority of tests" -addext "basicConstraints=critical,CA:TRUE" -out authority.pem
signed server "subjectAltName=DNS:localhost,IP:127.0.0.1"
signed client "extendedKeyUsage=clientAuth"
rm authority.key
