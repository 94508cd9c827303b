package payload

import (
	"archive/tar"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/stacks/seed"
)

// proxyItem is the image that has iptables with all that it needs.
const proxyItem = "kube-proxy"

// IptablesArchive is where iptables is brought as an archive, IptablesTree where it is
// unpacked.
const (
	IptablesArchive = "/usr/libexec/slipway/iptables.tar"
	IptablesTree    = "/usr/libexec/slipway/iptables"
	wrapperFolder   = "/usr/libexec/slipway/sbin/"
)

// UnpackIptables is the script that unpacks the archive, if it is newer than the tree. The
// tree appears whole or not at all.
const UnpackIptables = `set -eu
tree=` + IptablesTree + ` archive=` + IptablesArchive + `
[ ! "$tree" -nt "$archive" ] || exit 0
rm -rf "$tree.new"
mkdir -p "$tree.new"
tar --extract --file "$archive" --directory "$tree.new" --no-same-owner
rm -rf "$tree"
touch "$tree.new"
mv "$tree.new" "$tree"
`

//go:embed files/iptables
var wrapper string

//go:embed files/path.conf
var pathUnit string

// iptablesFiles are the commands by which k3s finds iptables and ipset.
func iptablesFiles() []seed.File {
	files := []seed.File{{Path: "/etc/systemd/system/k3s.service.d/iptables.conf", Mode: "0644", Content: pathUnit, Restarts: true}}
	for _, name := range []string{"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore", "ipset"} {
		files = append(files, seed.File{Path: wrapperFolder + name, Mode: "0755", Content: wrapper})
	}
	return files
}

// ofIptables tells whether a file of the image belongs to iptables or to ipset, without
// which k3s enforces no network policies: programs, modules, libraries and the loader.
func ofIptables(name string) bool {
	if name == "usr/sbin/xtables-nft-multi" || name == "usr/sbin/ipset" {
		return true
	}
	folder, base := path.Split(name)
	triplet, isLibrary := strings.CutPrefix(strings.TrimPrefix(folder, "usr/"), "lib/")
	triplet, inside, _ := strings.Cut(triplet, "/")
	if !isLibrary || !strings.HasSuffix(triplet, "-linux-gnu") {
		return false
	}
	if inside == "xtables/" {
		return true
	}
	for _, prefix := range []string{"ld-linux-", "libc.so.", "libm.so.", "libmnl.so.", "libnftnl.so.", "libxtables.so.", "libipset.so."} {
		if inside == "" && strings.HasPrefix(base, prefix) {
			return true
		}
	}
	return false
}

// writeIptables writes the archive. Equal images give equal bytes.
func writeIptables(folder *bundle.Folder, item bundle.Item, w io.Writer) error {
	image, err := folder.Image(item)
	if err != nil {
		return err
	}
	whole := mutate.Extract(image)
	defer whole.Close()
	reader, writer := tar.NewReader(whole), tar.NewWriter(w)
	found := false
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path.Clean("/"+header.Name), "/")
		if header.Typeflag == tar.TypeDir || !ofIptables(name) {
			continue
		}
		found = true
		entry := &tar.Header{Typeflag: header.Typeflag, Name: name, Linkname: header.Linkname, Size: header.Size, Mode: header.Mode & 0o755}
		if err := writer.WriteHeader(entry); err != nil {
			return err
		}
		if _, err := io.Copy(writer, reader); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("image %s has no iptables", item.Name)
	}
	return writer.Close()
}
