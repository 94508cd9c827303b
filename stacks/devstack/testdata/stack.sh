# shellcheck shell=bash
#
# What stack.sh, unstack.sh and clean.sh do with a plugin, in their order. The arguments are
# phases ("stack install", "unstack"); unstack and clean run without errexit, as theirs do.
#
# Variables are those that devstack sets; what it sources reads them.
# shellcheck disable=SC2034

TOP_DIR=$WORK/devstack
FILES=$TOP_DIR/files
DEST=$WORK/stack
DATA_DIR=$DEST/data
SYSTEMD_DIR=$WORK/systemd
SYSTEMCTL=systemctl
KILL_PATH=/bin/kill
STACK_USER=$(id -un)
mkdir -p "$FILES" "$DATA_DIR"
ENABLED_SERVICES=${ENABLED_SERVICES:-key,n-api,tempest}
HOST_IP=${HOST_IP:-192.0.2.7}
SERVICE_HOST=${SERVICE_HOST:-$HOST_IP}
SERVICE_PROTOCOL=${SERVICE_PROTOCOL:-http}
SERVICE_PASSWORD=${SERVICE_PASSWORD:-secret}
SERVICE_PROJECT_NAME=service
SERVICE_DOMAIN_NAME=Default
REGION_NAME=${REGION_NAME:-RegionOne}
KEYSTONE_SERVICE_URI=${KEYSTONE_SERVICE_URI:-$SERVICE_PROTOCOL://$SERVICE_HOST/identity}
TEMPEST_CONFIG=$WORK/tempest.conf

function create_service_user {
    get_or_create_user "$1" "$SERVICE_PASSWORD" "$SERVICE_DOMAIN_NAME"
    get_or_add_user_project_role service "$1" "$SERVICE_PROJECT_NAME" "$SERVICE_DOMAIN_NAME" "$SERVICE_DOMAIN_NAME"
    if [[ -n "${2:-}" ]]; then
        get_or_add_user_project_role "$2" "$1" "$SERVICE_PROJECT_NAME" "$SERVICE_DOMAIN_NAME" "$SERVICE_DOMAIN_NAME"
    fi
}

function echo_summary {
    echo "summary: $*"
}

if [[ -n "${SLIPWAY_DEVSTACK:-}" ]]; then
    # shellcheck source=/dev/null
    source "$SLIPWAY_DEVSTACK/functions-common"
    # shellcheck source=/dev/null
    source "$SLIPWAY_DEVSTACK/functions"
    # shellcheck source=/dev/null
    source "$SLIPWAY_DEVSTACK/inc/ini-config"
    touch "$TEMPEST_CONFIG"
    CURL_GET="curl -g"
else
    # shellcheck source=/dev/null
    source "$HARNESS/functions.sh"
    set -o nounset # stricter than stack.sh: no variable is taken for granted
fi

# stackrc reads local.conf and then sets its defaults.
if [[ -f "$TOP_DIR/.localrc.auto" ]]; then
    # shellcheck source=/dev/null
    source "$TOP_DIR/.localrc.auto"
fi
VOLUME_BACKING_FILE_SIZE=${VOLUME_BACKING_FILE_SIZE:-30G}

case "$1" in
    stack*) set -o errexit ;;
esac
# shellcheck source=/dev/null
source "$PLUGIN/override-defaults"
GLANCE_LIMIT_IMAGE_SIZE_TOTAL=${GLANCE_LIMIT_IMAGE_SIZE_TOTAL:-2000} # lib/glance
if [[ "$ENABLED_SERVICES" == *tls-proxy* ]]; then
    SSL_BUNDLE_FILE=$DATA_DIR/ca-bundle.pem # lib/tls
    DEVSTACK_CERT=$DATA_DIR/devstack-cert.pem
fi
# shellcheck source=/dev/null
source "$PLUGIN/settings"

before=$(set +o; pwd)
for phase in "$@"; do
    echo "== $phase" >> "$WORK/log"
    # Unquoted: mode and phase are two arguments.
    # shellcheck source=/dev/null disable=SC2086
    source "$PLUGIN/plugin.sh" $phase
done
[[ "$before" == "$(set +o; pwd)" ]] || { echo "the plugin changed the shell's options or its folder" >&2; exit 1; }

# A function of the plugin that a test asks for by itself.
if [[ -n "${CALL:-}" ]]; then
    "$CALL"
fi

for name in VOLUME_BACKING_FILE_SIZE GLANCE_LIMIT_IMAGE_SIZE_TOTAL ENABLED_SERVICES ${!SLIPWAY_*}; do
    echo "$name=${!name}" >> "$WORK/variables"
done
