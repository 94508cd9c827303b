package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// alone is how many machines boot one after the other.
const alone = 3

// booting measures the time from the order of a server to the first word of its
// SSH at its floating IP, of real machines: of one that has the host for itself,
// and of many ordered at once. The image is the bundle's for seeds, which does
// nothing of its own while it boots; that for nodes unpacks the images of
// containers meanwhile.
func (o options) booting(ctx context.Context, dir string) (_ []measure, err error) {
	box, err := startBox(ctx, o.slipway, dir, "--driver", "container", "--bundle", o.bundle)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, box.stop(context.WithoutCancel(ctx))) }()
	b, err := newBench(ctx, o, box, filepath.Join(o.bundle, "machines", "seed.raw"), 1024)
	if err != nil {
		return nil, fmt.Errorf("preparing the sandbox for machines: %w", err)
	}
	if err := b.openToTheHost(ctx); err != nil {
		return nil, fmt.Errorf("opening the network to the host: %w", err)
	}
	var times []time.Duration
	for i := range alone + 1 { // the first brings the image's files into memory
		id, took, err := b.boot(ctx, "alone-"+strconv.Itoa(i))
		if err == nil {
			err = b.remove(ctx, id)
		}
		if err != nil {
			return nil, err
		}
		if i > 0 {
			times = append(times, took)
		}
	}
	begin := time.Now()
	group, together := errgroup.WithContext(ctx)
	for i := range o.machines {
		group.Go(func() error { _, _, err := b.boot(together, "together-"+strconv.Itoa(i)); return err })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return []measure{newMeasure("boot of a machine to SSH, median", quantile(times, 0.5).Seconds(), "s", 5),
		newMeasure(fmt.Sprintf("boot of %d machines at once to SSH", o.machines), time.Since(begin).Seconds(), "s", 60)}, nil
}

// openToTheHost gives the network a router to the external one and lets SSH in.
func (b *bench) openToTheHost(ctx context.Context) error {
	var networks struct{ Networks []struct{ ID string } }
	if err := b.call(ctx, http.MethodGet, b.network+"networks?router:external=true", "", &networks); err != nil {
		return err
	}
	if len(networks.Networks) == 0 {
		return errors.New("the cloud has no external network")
	}
	b.externalID = networks.Networks[0].ID
	var router struct{ Router struct{ ID string } }
	body := fmt.Sprintf(`{"router":{"name":"bench","external_gateway_info":{"network_id":%q}}}`, b.externalID)
	if err := b.call(ctx, http.MethodPost, b.network+"routers", body, &router); err != nil {
		return err
	}
	err := b.call(ctx, http.MethodPut, b.network+"routers/"+router.Router.ID+"/add_router_interface", fmt.Sprintf(`{"subnet_id":%q}`, b.subnetID), nil)
	if err != nil {
		return err
	}
	var group struct {
		Group struct{ ID string } `json:"security_group"`
	}
	if err := b.call(ctx, http.MethodPost, b.network+"security-groups", `{"security_group":{"name":"ssh"}}`, &group); err != nil {
		return err
	}
	b.groupID = group.Group.ID
	return b.call(ctx, http.MethodPost, b.network+"security-group-rules", fmt.Sprintf(
		`{"security_group_rule":{"security_group_id":%q,"direction":"ingress","protocol":"tcp","port_range_min":22,"port_range_max":22}}`, b.groupID), nil)
}

// boot makes a server on a port that has a floating IP already, and tells its id
// and how long it took until it spoke.
func (b *bench) boot(ctx context.Context, name string) (string, time.Duration, error) {
	var port struct{ Port struct{ ID string } }
	body := fmt.Sprintf(`{"port":{"network_id":%q,"name":%q,"security_groups":[%q]}}`, b.networkID, name, b.groupID)
	if err := b.call(ctx, http.MethodPost, b.network+"ports", body, &port); err != nil {
		return "", 0, err
	}
	var floating struct {
		IP struct {
			Address string `json:"floating_ip_address"`
		} `json:"floatingip"`
	}
	body = fmt.Sprintf(`{"floatingip":{"floating_network_id":%q,"port_id":%q}}`, b.externalID, port.Port.ID)
	if err := b.call(ctx, http.MethodPost, b.network+"floatingips", body, &floating); err != nil {
		return "", 0, err
	}
	begin := time.Now()
	body = fmt.Sprintf(`{"server":{"name":%q,"imageRef":%q,"flavorRef":%q,"networks":[{"port":%q}]}}`, name, b.imageID, b.flavorID, port.Port.ID)
	var server struct{ Server struct{ ID string } }
	if err := b.call(ctx, http.MethodPost, b.compute+"servers", body, &server); err != nil {
		return "", 0, err
	}
	if err := speaks(ctx, net.JoinHostPort(floating.IP.Address, "22")); err != nil {
		return "", 0, fmt.Errorf("machine %s: %w", name, err)
	}
	return server.Server.ID, time.Since(begin), nil
}

// remove deletes a server and waits until it is gone.
func (b *bench) remove(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, bootLimit)
	defer cancel()
	if err := b.call(ctx, http.MethodDelete, b.compute+"servers/"+id, "", nil); err != nil {
		return err
	}
	for {
		var all struct{ Servers []struct{ ID string } }
		if err := b.call(ctx, http.MethodGet, b.compute+"servers", "", &all); err != nil {
			return err
		}
		if !slices.ContainsFunc(all.Servers, func(s struct{ ID string }) bool { return s.ID == id }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the end of server %s: %w", id, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// bootLimit is when a machine is given up.
const bootLimit = 5 * time.Minute

// speaks waits for the greeting of an SSH server.
func speaks(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, bootLimit)
	defer cancel()
	for {
		err := greeting(ctx, address)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for SSH at %s: %w", address, errors.Join(ctx.Err(), err))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func greeting(ctx context.Context, address string) error {
	dialer := net.Dialer{Timeout: time.Second}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := connection.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	word, err := bufio.NewReader(connection).ReadString('\n')
	if err == nil && !strings.HasPrefix(word, "SSH-") {
		err = fmt.Errorf("it says %q", word)
	}
	return err
}
