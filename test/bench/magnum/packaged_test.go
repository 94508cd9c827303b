package magnum

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/test/devcloud/cloud"
)

const (
	packagedPort      = "9512"
	packagedProcesses = "8"
	// packagedPID is a file inside the devcloud.
	packagedPID = "/run/magnum-api-packaged.pid"
)

// packaged measures the memory of magnum-api as Debian's package starts it, with
// the settings of /etc/magnum/magnum-api-uwsgi.ini of magnum-api 20.0.0-2. The
// devcloud's own has one process, to be small.
func (b *bench) packaged() cloud.Memory {
	b.t.Helper()
	address := b.cloud.Address().String() + ":" + packagedPort
	b.inside("env", "OS_MAGNUM_CONFIG_DIR=/etc/magnum/", "uwsgi_python3", "--http-socket", address, "--wsgi-file", "/usr/bin/magnum-api-wsgi",
		"--master", "--lazy-apps", "--processes", packagedProcesses, "--enable-threads", "--threads", "32", "--thunder-lock", "--no-orphans", "--die-on-term",
		"--close-on-exec", "--close-on-exec2", "--need-app", "--buffer-size", "65535", "--rem-header", "Content-Length", "--add-header", "Connection: close",
		"--listen", "100", "--pyargv", "--config-file /etc/magnum/magnum.conf", "--pidfile", packagedPID, "--daemonize", "/var/log/magnum-api-packaged.log")
	defer b.inside("uwsgi_python3", "--stop", packagedPID)
	b.await("magnum-api as Debian's package starts it", func() bool {
		response, err := http.Get("http://" + address + "/")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	group, ctx := errgroup.WithContext(b.t.Context())
	for range 16 { // so that each process has answered something
		group.Go(func() error {
			_, err := load{b.token, 10, time.Second}.run(ctx, "http://"+address+"/v1/clusters")
			return err
		})
	}
	b.must(group.Wait())
	memory, err := b.cloud.Memory(":" + packagedPort + " ")
	b.must(err)
	return memory
}

// inside runs a program in the devcloud.
func (b *bench) inside(name string, args ...string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	command, err := b.cloud.Command(ctx, name, args...)
	b.must(err)
	if out, err := command.CombinedOutput(); err != nil {
		b.t.Fatalf("%s: %v: %s", name, err, out)
	}
}
