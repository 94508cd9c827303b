package e2e

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// expectEtcdDevice: etcd's folder is on the only volume of a control plane, which has this
// size and this type.
func (p *project) expectEtcdDevice(plane string, size int, kind string) {
	p.t.Helper()
	volumes := p.attached(plane)
	if len(volumes) != 1 {
		p.t.Fatalf("volumes of the control plane: %+v", volumes)
	}
	for id, v := range volumes {
		if v.Size != size || v.Type != kind {
			p.t.Errorf("etcd's volume: %+v", v)
		}
		device := p.etcdDevice(plane)
		if got, err := p.inside(plane, "realpath /dev/disk/by-id/virtio-"+id[:20]); err != nil || got != device {
			p.t.Errorf("etcd is on %s, its volume is %s (%v)", device, got, err)
		}
	}
}

// etcdDevice is the device of etcd's folder, which is the one with the tag and
// holds the data of a member.
func (p *project) etcdDevice(plane string) string {
	p.t.Helper()
	out, err := p.inside(plane, "findmnt --noheadings --output SOURCE /var/lib/etcd; realpath /dev/disk/openstack/by-tag/etcd; ls /var/lib/etcd")
	said := strings.Fields(out)
	if err != nil || len(said) < 3 || said[0] != said[1] || !slices.Contains(said, "member") {
		p.t.Errorf("mounted, tagged and in it: %q (%v)", said, err)
		return ""
	}
	return said[0]
}

// etcdPriority: all threads of etcd have the priority, also those of the next etcd when one
// was killed.
func (p *project) etcdPriority(plane string, nice int) {
	p.t.Helper()
	const threads = "pid=$(grep -lx etcd /proc/[0-9]*/comm | cut -d/ -f3) && echo $pid && cut -d' ' -f19 /proc/$pid/task/*/stat | sort -u"
	before := ""
	raised := func(what string) string {
		pid := ""
		p.eventually("priority of "+what, 2*time.Minute, func() (string, bool) {
			out, err := p.inside(plane, threads)
			said := strings.Fields(out)
			if err != nil || len(said) != 2 {
				return out, false
			}
			pid = said[0]
			return out, pid != before && said[1] == strconv.Itoa(nice)
		})
		return pid
	}
	before = raised("etcd")
	if out, err := p.inside(plane, "kill -9 "+before); err != nil {
		p.t.Fatalf("killing etcd: %v\n%s", err, out)
	}
	raised("etcd after a restart")
}
