package browser

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// How two pictures may differ and still be the same. A pixel is off if one of its colours
// differs by more than mostOff of 255, as edges of letters may; mostPixels is the share of the
// pixels that may be off. The same Chromium gives 0.00004 at most. A badge that is missing gives
// 0.0006 or more, what has moved by a pixel ten times as much.
const (
	mostOff    = 64
	mostPixels = 0.0005
)

// renew is the value of SLIPWAY_SHOTS that renews committed pictures.
const renew = "update"

// still is a script that runs before those of a page. It takes from the page what differs from
// one time to the next: no stream changes it, and what shows a time shows one that is as many
// hours ago before a fixed one.
const still = `(() => {
	const ask = window.fetch;
	window.fetch = (to, how) => new Headers(how?.headers).get("Accept")?.includes("text/event-stream") ? new Promise(() => {}) : ask(to, how);
	const fixed = Date.UTC(2026, 0, 2, 15, 4, 5);
	new MutationObserver(() => document.querySelectorAll("time[datetime]").forEach((one) => {
		const hours = Math.round((Date.now() - new Date(one.dateTime)) / 3600e3);
		const [day, clock] = new Date(fixed - hours * 3600e3).toISOString().split(/[T.]/);
		const text = one.textContent.replace(/\d{4}-\d\d-\d\d/, day).replace(/\d\d:\d\d:\d\d/, clock);
		if (one.textContent !== text) one.textContent = text;
	})).observe(document, {subtree: true, childList: true, characterData: true});
})()`

// Still takes from the pages that follow what differs from one time to the next.
func (b *Tab) Still(t testing.TB) {
	t.Helper()
	b.Do(t, Command(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: still}))
}

// letters is how wide DejaVu Sans, which Debian's fontconfig brings, draws a text with the font
// of the page.
const letters = `(() => { const c = document.createElement("canvas").getContext("2d"); c.font = "100px " + getComputedStyle(document.body).fontFamily; return c.measureText("Slipway 0123 mW").width })()`

const widthOfLetters = 899.12

// Picture fails if the tab does not look like a committed picture; SLIPWAY_SHOTS=update renews
// it. It skips where the letters are those of another font.
func (b *Tab) Picture(t testing.TB, file string) {
	t.Helper()
	if width := Ask[float64](t, b, letters); width < widthOfLetters-1 || width > widthOfLetters+1 {
		t.Skipf("the pages have other letters than DejaVu Sans, %.2f wide: install fonts-dejavu-core", width)
	}
	shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	now, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("SLIPWAY_SHOTS") == renew {
		if err := write(file, now); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; SLIPWAY_SHOTS=%s makes it", err, renew)
	}
	before, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	off, err := differ(before, now)
	if err != nil {
		t.Errorf("%s: %v", file, err)
	}
	t.Logf("%s: %.3f %% of the pixels are off", filepath.Base(file), 100*off)
	if off <= mostPixels {
		return
	}
	kept := filepath.Join(os.TempDir(), "now-"+filepath.Base(file))
	if wrong := os.WriteFile(kept, shot, 0o600); wrong != nil {
		t.Error(wrong)
	}
	t.Errorf("%s is not what the page looks like: %.2f %% of the pixels are off. It looks like %s; SLIPWAY_SHOTS=%s renews the picture", file, 100*off, kept, renew)
}

// differ is the share of pixels that are off.
func differ(a, b image.Image) (float64, error) {
	if a.Bounds() != b.Bounds() {
		return 1, fmt.Errorf("the sizes are %v and %v", a.Bounds().Size(), b.Bounds().Size())
	}
	off, size := 0, a.Bounds()
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			r, g, bl, _ := a.At(x, y).RGBA()
			r2, g2, bl2, _ := b.At(x, y).RGBA()
			if max(apart(r, r2), apart(g, g2), apart(bl, bl2)) > mostOff {
				off++
			}
		}
	}
	return float64(off) / float64(size.Dx()*size.Dy()), nil
}

// apart is how far two colours are from each other, of 255.
func apart(a, b uint32) uint32 { return max(a, b)>>8 - min(a, b)>>8 }

// write writes a picture with the 256 colours that it has most of, which keeps it small.
func write(file string, picture image.Image) error {
	size := picture.Bounds()
	count := map[color.RGBA]int{}
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			count[rgba(picture.At(x, y))]++
		}
	}
	all := make([]color.RGBA, 0, len(count))
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return int(a.R)<<16 + int(a.G)<<8 + int(a.B) - int(b.R)<<16 - int(b.G)<<8 - int(b.B)
	})
	var palette color.Palette
	for _, c := range all[:min(256, len(all))] {
		palette = append(palette, c)
	}
	small, nearest := image.NewPaletted(size, palette), map[color.RGBA]uint8{}
	for _, c := range all {
		nearest[c] = uint8(palette.Index(c))
	}
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			small.SetColorIndex(x, y, nearest[rgba(picture.At(x, y))])
		}
	}
	var text bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&text, small); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return os.WriteFile(file, text.Bytes(), 0o644) //nolint:gosec // a page of docs
}

func rgba(c color.Color) color.RGBA {
	r, g, b, _ := c.RGBA()
	return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}
}
