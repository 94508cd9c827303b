package cloud

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// startTime is how long a service may take until it serves, on a machine that
// has other things to do.
const startTime = 15 * time.Minute

// Up brings the cloud up, unless it runs, and returns when all of it serves.
func (c *Cloud) Up(ctx context.Context) (err error) {
	release, err := c.claim()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if inside, runs := c.running(); runs {
		if _, err := os.Stat(c.CloudsYAML()); err == nil {
			return nil
		}
		// Somebody ended a start half-way.
		if err := c.end(ctx, inside); err != nil {
			return err
		}
	}
	s := settings{Address: c.Address().String(), Machines: c.Machines, Clusters: c.Clusters}
	if s.Password, err = c.secret(); err != nil {
		return err
	}
	if err := os.RemoveAll(c.path("logs")); err != nil {
		return fmt.Errorf("deleting the last run's logs: %w", err)
	}
	if err := c.makeImage(ctx); err != nil {
		return err
	}
	if err := c.prepare(ctx, s); err != nil {
		return fmt.Errorf("preparing: %w", err)
	}
	if err := c.run(ctx, s); err != nil {
		return errors.Join(err, c.down(context.WithoutCancel(ctx)))
	}
	return nil
}

// run starts everything on what was prepared, and fills the cloud.
func (c *Cloud) run(ctx context.Context, s settings) error {
	if err := os.RemoveAll(c.path("run")); err != nil {
		return fmt.Errorf("emptying the last run: %w", err)
	}
	inside, err := c.begin(c.layers(c.path("run"), c.path("prepared"), c.path("image")))
	if err != nil {
		return err
	}
	c.Tell("starting the databases and Keystone")
	if err := c.start(ctx, inside, append(c.infrastructure(), identity())...); err != nil {
		return err
	}
	owner := seed{address: s.Address, password: s.Password, external: c.external(), hosts: len(c.hosts()), emulates: c.Machines, dashboard: c.Horizon, tacker: c.Tacker != ""}
	if err := owner.identity(ctx); err != nil {
		return fmt.Errorf("making users and the catalog: %w", err)
	}
	if c.Machines {
		if err := c.attach(ctx, inside); err != nil {
			return err
		}
	}
	c.Tell("starting the other services")
	if err := c.start(ctx, inside, c.apis()...); err != nil {
		return err
	}
	if err := owner.resources(ctx); err != nil {
		return fmt.Errorf("filling the cloud: %w", err)
	}
	return owner.writeClouds(c.CloudsYAML())
}

// start starts services and waits until they serve.
func (c *Cloud) start(ctx context.Context, inside container, services ...service) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	names := make([]string, len(services))
	for i, s := range services {
		names[i] = s.name
	}
	if err := poll(ctx, "supervisord", func() error { return inside.control(ctx, append([]string{"start"}, names...)...) }); err != nil {
		return fmt.Errorf("%w; the end of its log:\n%s", err, tail(c.path("logs", "container.log")))
	}
	for _, s := range services {
		err := poll(ctx, s.name, func() error {
			if down := inside.ended(ctx, s.name); down != "" {
				return fatal{fmt.Errorf("%s ended: %s", s.name, down)}
			}
			return c.answers(ctx, s)
		})
		if err != nil {
			return fmt.Errorf("%w; the end of its log:\n%s", err, tail(c.path("logs", s.name+".log")))
		}
	}
	return nil
}

// answers tells what is amiss with a service.
func (c *Cloud) answers(ctx context.Context, s service) error {
	address := net.JoinHostPort(c.Address().String(), strconv.Itoa(s.port))
	switch {
	case s.port == 0:
		return nil // what waits for services of the compute API finds those
	case s.ready == "":
		connection, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			connection.Close()
		}
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+s.ready, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode >= 400 {
		return fmt.Errorf("%s answered %s", s.name, response.Status)
	}
	return nil
}

// fatal is an error that polling does not outwait.
type fatal struct{ error }

// poll tries until the try succeeds or the context ends.
func poll(ctx context.Context, what string, try func() error) error {
	for {
		err := try()
		if end := (fatal{}); err == nil || errors.As(err, &end) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w (last: %w)", what, ctx.Err(), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// control is supervisorctl.
func (c container) control(ctx context.Context, args ...string) error {
	out, err := c.command(ctx, "supervisorctl", append([]string{"-c", "/etc/devcloud/supervisord.conf"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("supervisorctl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// ended is how supervisord tells that a service is no more; empty if it runs.
func (c container) ended(ctx context.Context, name string) string {
	out, _ := c.command(ctx, "supervisorctl", "-c", "/etc/devcloud/supervisord.conf", "status", name).Output()
	if line := string(out); strings.Contains(line, "EXITED") || strings.Contains(line, "FATAL") {
		return strings.TrimSpace(line)
	}
	return ""
}

// sql runs statements in a database as its administrator, and returns the rows.
func (c container) sql(ctx context.Context, database, statements string) (string, error) {
	cmd := c.command(ctx, "mariadb", "--socket=/run/mysqld/mysqld.sock", "--batch", "--skip-column-names", database)
	cmd.Stdin = strings.NewReader(statements)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("asking database %s: %w: %s", database, err, errs.String())
	}
	return string(out), nil
}

// Down ends the cloud and deletes what the run changed; logs stay, and what
// makes the next start quick.
func (c *Cloud) Down(ctx context.Context) (err error) {
	release, err := c.claim()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	return c.down(ctx)
}

func (c *Cloud) down(ctx context.Context) error {
	if inside, runs := c.running(); runs {
		if err := inside.kill(); err != nil {
			return err
		}
	}
	return errors.Join(removeFile(c.processFile()), removeFile(c.CloudsYAML()), os.RemoveAll(c.path("run")), os.RemoveAll(c.path("work")))
}

// end stops the database, so that its files are whole, and then all.
func (c *Cloud) end(ctx context.Context, inside container) error {
	stopped := inside.control(ctx, "stop", "all")
	if err := inside.kill(); err != nil {
		return err
	}
	return errors.Join(stopped, removeFile(c.processFile()), os.RemoveAll(c.path("work")))
}

// Purge is Down that deletes all of the folder.
func (c *Cloud) Purge(ctx context.Context) error {
	if err := c.Down(ctx); err != nil {
		return err
	}
	return os.RemoveAll(c.dir)
}

// Command is one inside the running cloud.
func (c *Cloud) Command(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	inside, runs := c.running()
	if !runs {
		return nil, fmt.Errorf("no devcloud runs in %s: make devcloud-up", c.dir)
	}
	return inside.command(ctx, name, args...), nil
}

// Network is the path of the running cloud's network namespace: who is in it has the cloud's
// own address, as a host of DevStack has.
func (c *Cloud) Network() (string, error) {
	inside, runs := c.running()
	if !runs {
		return "", fmt.Errorf("no devcloud runs in %s: make devcloud-up", c.dir)
	}
	return fmt.Sprintf("/proc/%d/ns/net", inside.pid), nil
}

// External is the network of floating IPs.
func (c *Cloud) External() netip.Prefix { return c.external() }

// Query asks a database of the services, past their APIs, and returns the rows
// with tabs between the columns.
func (c *Cloud) Query(ctx context.Context, database, statements string) ([]string, error) {
	inside, runs := c.running()
	if !runs {
		return nil, fmt.Errorf("no devcloud runs in %s: make devcloud-up", c.dir)
	}
	out, err := inside.sql(ctx, database, statements)
	return slices.DeleteFunc(strings.Split(out, "\n"), func(line string) bool { return line == "" }), err
}
