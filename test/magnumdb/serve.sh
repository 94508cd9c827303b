#!/bin/sh
# Runs inside a root with Debian's magnum, MariaDB and PostgreSQL (make magnum-root).
#   serve.sh FOLDER MARIADB-PORT POSTGRES-PORT: starts both servers on loopback, empty,
#   with the users magnum and reader, who only reads, prints "ready", and ends with its standard input.
set -eu
folder=$1 mariadb_port=$2 postgres_port=$3
mkdir -p "$folder/mariadb" "$folder/postgres" /run/postgresql
chown mysql "$folder/mariadb"
chown postgres "$folder/postgres" /run/postgresql
mariadb-install-db --user=mysql --datadir="$folder/mariadb" --auth-root-authentication-method=socket >"$folder/mariadb.log" 2>&1
mariadbd --no-defaults --user=mysql --datadir="$folder/mariadb" --socket="$folder/mariadb/socket" --bind-address=127.0.0.1 --port="$mariadb_port" \
	--pid-file="$folder/mariadb/pid" >>"$folder/mariadb.log" 2>&1 &
mariadb=$!
bin=$(echo /usr/lib/postgresql/*/bin)
setpriv --reuid=postgres --regid=postgres --clear-groups "$bin/initdb" -D "$folder/postgres/data" -A trust >"$folder/postgres.log" 2>&1
setpriv --reuid=postgres --regid=postgres --clear-groups "$bin/postgres" -D "$folder/postgres/data" -h 127.0.0.1 -p "$postgres_port" \
	-k "$folder/postgres" >>"$folder/postgres.log" 2>&1 &
postgres=$!
trap 'kill $mariadb $postgres 2>/dev/null; wait' EXIT
until mariadb -S "$folder/mariadb/socket" -e "CREATE USER magnum@localhost IDENTIFIED BY 'secret'; GRANT ALL ON *.* TO magnum@localhost;
	CREATE USER reader@localhost IDENTIFIED BY 'secret'; GRANT SELECT ON *.* TO reader@localhost" 2>/dev/null; do kill -0 $mariadb; sleep 0.3; done
until setpriv --reuid=postgres --regid=postgres --clear-groups psql -qh 127.0.0.1 -p "$postgres_port" -c "CREATE ROLE magnum SUPERUSER LOGIN PASSWORD 'secret'; CREATE ROLE reader LOGIN IN ROLE pg_read_all_data" 2>/dev/null; do kill -0 $postgres; sleep 0.3; done
echo ready
cat >/dev/null
