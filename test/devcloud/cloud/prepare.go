package cloud

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// databases are those of the services; nova_cell0 has the servers that no host
// took.
func (c *Cloud) databases() []string {
	all := []string{"keystone", "placement", "glance", "nova_api", "nova", "nova_cell0", "neutron", "cinder", "octavia", "barbican", "magnum"}
	if c.Horizon {
		all = append(all, "heat")
	}
	if c.Tacker != "" {
		all = append(all, "tacker")
	}
	return all
}

// migrations make the tables and Swift's rings, by service; each list runs in order.
func (c *Cloud) migrations(s settings) [][]string {
	url := "http://" + s.Address + ":5000/v3"
	all := [][]string{
		{"neutron-db-manage --config-file /etc/neutron/neutron.conf upgrade heads"},
		{"keystone-manage fernet_setup --keystone-user root --keystone-group root",
			"keystone-manage credential_setup --keystone-user root --keystone-group root",
			"keystone-manage db_sync",
			"keystone-manage bootstrap --bootstrap-region-id RegionOne --bootstrap-public-url " + url +
				" --bootstrap-internal-url " + url + " --bootstrap-admin-url " + url},
		{"nova-manage api_db sync",
			"nova-manage cell_v2 map_cell0", "nova-manage db sync", "nova-manage cell_v2 create_cell --name cell1"},
		{"cinder-manage db sync"}, {"magnum-db-manage upgrade"}, {"octavia-db-manage upgrade head"},
		{"glance-manage db_sync"}, {"barbican-db-manage upgrade"}, {"placement-manage db sync"},
		makeRings(s.Address),
	}
	if c.Horizon {
		all = append(all, []string{"heat-manage db_sync"})
	}
	if c.Tacker != "" {
		all = append(all, []string{"tacker-db-manage --config-file /etc/tacker/tacker.conf upgrade head"})
	}
	return all
}

// prepare makes the configuration and the empty databases unless that has been
// done with this image.
func (c *Cloud) prepare(ctx context.Context, s settings) error {
	image, err := os.ReadFile(c.path("image.made"))
	if err != nil {
		return fmt.Errorf("reading the image's digest: %w", err)
	}
	sum, err := digest(strings.Join([]string{string(image), s.Address, s.Password, c.supervisor(), c.Tacker}, "\n"), confFiles, pluginFiles)
	if err != nil {
		return err
	}
	return c.remake("prepared", sum, func(folder string) error {
		c.Tell("making the databases (once)")
		if err := c.configure(folder, s); err != nil {
			return err
		}
		inside, err := c.begin(c.layers(folder, c.path("image")))
		if err != nil {
			return err
		}
		err = c.makeDatabases(ctx, inside, s)
		return errors.Join(err, c.end(context.WithoutCancel(ctx), inside))
	})
}

// layers are those of a container whose changes go to the folder upper.
func (c *Cloud) layers(upper string, lower ...string) layers {
	return layers{Lower: lower, Upper: upper, Work: c.path("work"), Merged: c.path("root"), Logs: c.path("logs"), Pycache: c.path("pycache"), Tacker: c.Tacker}
}

func (c *Cloud) makeDatabases(ctx context.Context, inside container, s settings) error {
	install := "mkdir -p /var/lib/devcloud-mariadb /var/lib/devcloud-lock /var/lib/devcloud-rabbitmq " +
		"/var/lib/glance/images /var/lib/glance/staging /var/lib/glance/tasks /var/lib/magnum/certificates /var/lib/cinder /var/lib/swift/d1 /var/lib/neutron /var/lib/tacker/packages /var/lib/tacker/store && " +
		"chown mysql /var/lib/devcloud-mariadb && " +
		"eatmydata mariadb-install-db --defaults-file=/etc/devcloud/mariadb.cnf --user=mysql --skip-test-db --auth-root-authentication-method=socket"
	if err := c.logged(inside.command(ctx, "sh", "-c", install), "prepare-mariadb"); err != nil {
		return err
	}
	if c.Machines {
		if err := c.makeSwitch(ctx, inside); err != nil {
			return err
		}
	}
	if err := c.start(ctx, inside, c.infrastructure()[0]); err != nil {
		return err
	}
	var grants strings.Builder
	fmt.Fprintf(&grants, "CREATE USER devcloud@'%%' IDENTIFIED BY '%s';\n", s.Password)
	for _, d := range c.databases() {
		fmt.Fprintf(&grants, "CREATE DATABASE %s; GRANT ALL ON %s.* TO devcloud@'%%';\n", d, d)
	}
	if _, err := inside.sql(ctx, "mysql", grants.String()); err != nil {
		return err
	}
	return c.migrate(ctx, inside, s)
}

// migrate runs the lists side by side, two at a time.
func (c *Cloud) migrate(ctx context.Context, inside container, s settings) error {
	var all sync.WaitGroup
	lists := c.migrations(s)
	errs, slots := make([]error, len(lists)), make(chan struct{}, 2)
	for i, list := range lists {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			for n, line := range list {
				words := strings.Fields(line)
				cmd := inside.command(ctx, words[0], words[1:]...)
				cmd.Env = append(cmd.Env, "OS_BOOTSTRAP_PASSWORD="+s.Password)
				if errs[i] = c.logged(cmd, fmt.Sprintf("prepare-%s-%d", filepath.Base(words[0]), n)); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
