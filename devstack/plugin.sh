#!/bin/bash
#
# Slipway's devstack plugin. devstack sources this file with a mode and a phase. It
# installs the program and calls `slipway devstack`, which has all logic: settings go to it
# as variables, never as arguments, so that no password appears in a list of processes.

_SLIPWAY_XTRACE=$(set +o | grep xtrace)
set +o xtrace

SLIPWAY_PLUGIN_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Runs a step with the settings. The subshell keeps the variables out of devstack.
function slipway_devstack {
    (
        set +o xtrace
        SLIPWAY_CA=""
        SLIPWAY_CERTIFICATE=""
        if is_service_enabled tls-proxy; then
            SLIPWAY_CA=${SSL_BUNDLE_FILE:-}
            SLIPWAY_CERTIFICATE=${DEVSTACK_CERT:-}
        fi
        export SLIPWAY_CA SLIPWAY_CERTIFICATE
        local name
        for name in OFFLINE HOST_IP SERVICE_HOST SERVICE_PROTOCOL REGION_NAME KEYSTONE_SERVICE_URI \
            SERVICE_PASSWORD SERVICE_PROJECT_NAME SERVICE_DOMAIN_NAME FLOATING_RANGE FIXED_RANGE PUBLIC_NETWORK_NAME \
            http_proxy https_proxy no_proxy ${!SLIPWAY_*}; do
            export "$name=${!name:-}"
        done
        exec "$SLIPWAY_BIN" devstack "$@"
    )
}

# Ends stack.sh with the log of a service, or says what to read.
function slipway_fail {
    local service=$1
    sudo journalctl --no-pager -n 50 -u "devstack@$service" || true
    die $LINENO "$2; the last lines of the log are above, and more in: journalctl -u devstack@$service"
}

# Restarts a service, so that a second stack.sh has the new program and settings.
function slipway_run {
    local service=$1 user=${2:-} text environment=""
    text=$(slipway_devstack command "$service")
    if [[ "$text" == *$'\n'* ]]; then
        environment=${text#*$'\n'}
    fi
    stop_process "$service"
    run_process "$service" "${text%%$'\n'*}" "" "$user" "$environment"
}

function slipway_install_program {
    if [[ -n "$SLIPWAY_BINARY_URL" ]]; then
        local file
        file=$(get_extra_file "$SLIPWAY_BINARY_URL")
        if ! echo "$SLIPWAY_BINARY_SHA256  $file" | sha256sum --check --status -; then
            if [[ "$file" == "$FILES"/* ]]; then
                rm -f "$file" # else the next run would find it again
            fi
            die $LINENO "$SLIPWAY_BINARY_URL is not what SLIPWAY_BINARY_SHA256 says"
        fi
        install -D -m 0755 "$file" "$SLIPWAY_BIN"
    elif type -P go > /dev/null; then
        mkdir -p "$(dirname "$SLIPWAY_BIN")"
        (
            cd "$SLIPWAY_PLUGIN_DIR" || exit 1
            if [[ "${OFFLINE:-False}" == "True" ]]; then
                export GOPROXY=off
            fi
            GOFLAGS="-trimpath -gcflags=all=-dwarf=false" CGO_ENABLED=0 go build -ldflags "-s -w" -o "$SLIPWAY_BIN" ./cmd/slipway
        )
    elif [[ ! -x "$SLIPWAY_BIN" ]]; then
        die $LINENO "there is no slipway: set SLIPWAY_BINARY_URL and SLIPWAY_BINARY_SHA256, or install Go 1.26 or newer"
    fi
}

function slipway_pre_install {
    if is_service_enabled slipway-api && is_service_enabled magnum-api; then
        die $LINENO "magnum-api and slipway-api are the same API: remove the magnum plugin, or write disable_service slipway-api"
    fi
    slipway_install_program
    slipway_devstack check
    if [[ "$SLIPWAY_MODE" != "external" ]]; then
        sudo sysctl -q -w fs.inotify.max_user_instances=8192 fs.inotify.max_user_watches=524288
    fi
}

function slipway_install {
    local missing
    slipway_devstack trust
    missing=$(slipway_devstack missing)
    if [[ -n "$missing" && "${OFFLINE:-False}" != "True" ]]; then
        echo_summary "Slipway: completing the bundle $SLIPWAY_BUNDLE_DIR"
        sudo_with_proxies env "PATH=$PATH" "$SLIPWAY_BIN" bundle ensure --dir "$SLIPWAY_BUNDLE_DIR"
    fi
    slipway_devstack equip --progress plain
}

# Keystone answers here, but neither Nova nor Neutron nor Glance.
function slipway_post_config {
    slipway_devstack trust --keystone
    slipway_devstack configure
    slipway_devstack firewall
    create_service_user slipway
    create_service_user slipway-admin admin
    if is_service_enabled slipway-api; then
        local url="$SERVICE_PROTOCOL://$SERVICE_HOST:$SLIPWAY_API_PORT/v1"
        get_or_create_service magnum container-infra "Container Infrastructure Management Service"
        get_or_create_endpoint container-infra "$REGION_NAME" "$url" "$url" "$url"
    fi
    if is_service_enabled slipway-k3s; then
        slipway_stop_k3s
        slipway_run slipway-k3s root
    fi
    if [[ "$SLIPWAY_MODE" == "kind" ]]; then
        slipway_devstack cluster --progress plain
    fi
}

# Ends k3s with its containers, which systemd leaves running. A new k3s that does not find them
# again, as on cgroups of version 1, would start the same pods beside them, on ports in use.
function slipway_stop_k3s {
    stop_process slipway-k3s
    sudo "$SLIPWAY_BIN" devstack sweep --dir "$SLIPWAY_DIR"
}

# k3s writes a kubeconfig for root.
function slipway_kubeconfig {
    local written=$SLIPWAY_DIR/k3s.kubeconfig
    # shellcheck disable=SC2016
    timeout 300 bash -c 'until sudo test -s "$0"; do sleep 1; done' "$written" || slipway_fail slipway-k3s "k3s did not start"
    sudo install -m 0600 -o "$STACK_USER" "$written" "$SLIPWAY_DIR/kubeconfig"
}

function slipway_extra {
    if is_service_enabled slipway-k3s; then
        slipway_kubeconfig
    fi
    slipway_devstack prepare
    if ! slipway_devstack install --progress plain; then
        is_service_enabled slipway-k3s || die $LINENO "Slipway: Cluster API is not installed"
        slipway_fail slipway-k3s "Cluster API is not installed"
    fi
    "$SLIPWAY_BIN" image sync -m "$SLIPWAY_DIR/images.yaml" --bundle "$SLIPWAY_BUNDLE_DIR" --cloud devstack-admin --progress plain
    slipway_run slipway-controllers
    if is_service_enabled slipway-controllers; then
        wait_for_service "${SERVICE_TIMEOUT:-60}" "http://127.0.0.1:9514/readyz" ||
            slipway_fail slipway-controllers "the controllers are not ready"
    fi
    if is_service_enabled slipway-api; then
        slipway_run slipway-api
        wait_for_service "${SERVICE_TIMEOUT:-60}" "$SERVICE_PROTOCOL://$SERVICE_HOST:$SLIPWAY_API_PORT/healthcheck" ||
            slipway_fail slipway-api "the Magnum API does not answer"
        "$SLIPWAY_BIN" template sync -t "$SLIPWAY_DIR/templates.yaml" --cloud devstack-admin --progress plain
    fi
    if is_service_enabled tacker; then
        slipway_devstack tacker --progress plain
    fi
}

function slipway_test_config {
    if is_service_enabled tempest; then
        local options key value
        options=$(slipway_devstack tempest)
        while read -r key value; do
            iniset "$TEMPEST_CONFIG" magnum "$key" "$value"
        done <<< "$options"
    fi
}

# The APIs still answer. Whatever fails, the services are stopped.
function slipway_unstack {
    if [[ ! -x "$SLIPWAY_BIN" ]]; then
        return 0 # stack.sh never came so far
    fi
    slipway_devstack unstack --timeout "$SLIPWAY_UNSTACK_TIMEOUT" || warn $LINENO "Slipway: not all clusters were deleted"
    stop_process slipway-api
    stop_process slipway-controllers
    slipway_stop_k3s
}

function slipway_clean {
    if [[ -x "$SLIPWAY_BIN" ]]; then
        sudo "$SLIPWAY_BIN" devstack clean --dir "$SLIPWAY_DIR"
        rm -f "$SLIPWAY_BIN"
    fi
}

function slipway_plugin {
    case "$1 ${2:-}" in
        "stack pre-install") echo_summary "Slipway: installing the program"; slipway_pre_install ;;
        "stack install") echo_summary "Slipway: reading the bundle"; slipway_install ;;
        "stack post-config") echo_summary "Slipway: configuring"; slipway_post_config ;;
        "stack extra") echo_summary "Slipway: management cluster and Magnum API"; slipway_extra ;;
        "stack test-config") slipway_test_config ;;
        "unstack ") slipway_unstack ;;
        "clean ") slipway_clean ;;
    esac
}

if is_service_enabled slipway; then
    slipway_plugin "${1:-}" "${2:-}"
fi

$_SLIPWAY_XTRACE
