# shellcheck shell=bash
#
# Stand-ins for the functions of devstack that the plugin calls, with the same contract:
# which services are enabled, what ends stack.sh, what a unit contains. Set
# SLIPWAY_DEVSTACK to a checkout of devstack to run the tests with the real ones.

function is_service_enabled {
    local service
    for service in "$@"; do
        if [[ ",$ENABLED_SERVICES," == *",$service,"* ]]; then
            return 0
        fi
    done
    return 1
}

function enable_service {
    local service
    for service in "$@"; do
        if [[ ",${DISABLED_SERVICES:-}," == *",$service,"* ]]; then
            continue
        fi
        is_service_enabled "$service" || ENABLED_SERVICES+=",$service"
    done
}

function disable_service {
    local service
    for service in "$@"; do
        DISABLED_SERVICES="${DISABLED_SERVICES:-},$service"
        ENABLED_SERVICES=",$ENABLED_SERVICES,"
        ENABLED_SERVICES=${ENABLED_SERVICES//,$service,/,}
    done
}

function die {
    shift
    echo "[ERROR] $*" >&2
    exit 1
}

function warn {
    echo "[WARNING] $2"
}

function define_plugin { :; }
function plugin_requires { :; }

# A download is kept in FILES; with a file URL it is the file itself.
function get_extra_file {
    local url=$1 name=${1##*/}
    if [[ "$url" == file* ]]; then
        echo "${url#file://}"
        return
    fi
    if [[ ! -f "$FILES/$name" ]]; then
        wget -c "$url" -O "$FILES/$name" || die $LINENO "$url could not be downloaded"
    fi
    echo "$FILES/$name"
}

# Units run a program by its absolute path, without sudo.
function run_process {
    local service=$1 command=$2 user=${4:-$STACK_USER} environment=${5:-}
    is_service_enabled "$service" || return 0
    [[ "$command" == /* && "$command" != *sudo* ]] || die $LINENO "not a command for systemd: $command"
    mkdir -p "$SYSTEMD_DIR"
    {
        printf '[Service]\nUser = %s\nExecStart = %s\nKillMode = process\n' "$user" "$command"
        if [[ -n "$environment" ]]; then
            printf 'Environment = %s\n' "$environment"
        fi
        printf '[Install]\nWantedBy = multi-user.target\n'
    } > "$SYSTEMD_DIR/devstack@$service.service"
    $SYSTEMCTL daemon-reload
    $SYSTEMCTL enable "devstack@$service.service"
    $SYSTEMCTL start "devstack@$service.service"
}

function stop_process {
    local service=$1
    if is_service_enabled "$service" && $SYSTEMCTL is-enabled "devstack@$service.service"; then
        $SYSTEMCTL stop "devstack@$service.service"
        $SYSTEMCTL disable "devstack@$service.service"
    fi
}

function iniset {
    printf '%s %s = %s\n' "$2" "$3" "$4" >> "$1"
}

function sudo_with_proxies {
    sudo http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" no_proxy="${no_proxy:-}" "$@"
}

function wait_for_service {
    local code end=$((SECONDS + $1))
    while ((SECONDS < end)); do
        code=$(curl -g -k --noproxy '*' -s -o /dev/null -w '%{http_code}' "$2") && [[ "$code" != 503 ]] && return 0
        sleep 1
    done
    return 124
}

# Keystone's objects are made by the command of the system's administrator, once.
function as_system_admin {
    openstack --os-cloud devstack-system-admin "$@"
}

function get_or_create_user {
    as_system_admin user create "$1" --password "$2" --domain="$3" --or-show -f value -c id
}

function get_or_add_user_project_role {
    as_system_admin role add "$1" --user "$2" --project "$3" --user-domain "$4" --project-domain "$5"
}

function get_or_create_service {
    as_system_admin service show "$2" -f value -c id 2> /dev/null ||
        as_system_admin service create "$2" --name "$1" --description="$3" -f value -c id
}

function get_or_create_endpoint {
    local interface id
    for interface in public admin internal; do
        id=$(as_system_admin endpoint list --service "$1" --interface "$interface" --region "$2" -c ID -f value)
        [[ -n "$id" ]] || as_system_admin endpoint create "$1" "$interface" "$3" --region "$2" -f value -c id
    done
}
