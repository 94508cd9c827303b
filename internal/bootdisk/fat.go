package bootdisk

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// The EFI system partition is a FAT32 file system with clusters of one sector:
// it needs more than 65525 of them, or it would be FAT16 (Microsoft's FAT
// specification, 3.5). 64 MiB have 129 000.
const (
	fatReserved = 32
	fatSectors  = espSize / sectorSize
	fatLength   = 1009 // sectors of one table: 4 bytes for each cluster
	fatData     = fatReserved + 2*fatLength
	fatClusters = fatSectors - fatData
	fatEnd      = 0x0fffffff
)

// The clusters of the three folders; the program follows.
const (
	clusterRoot = 2 + iota
	clusterEFI
	clusterBoot
	clusterFile
)

// Attributes of entries.
const (
	fatLabel  = 0x08
	fatFolder = 0x10
)

// fatFilesystem is an EFI system partition with one program, \EFI\BOOT\name.
func fatFilesystem(loader Loader, id uuid.UUID) ([]chunk, error) {
	base, extension, _ := strings.Cut(strings.ToUpper(loader.EFIName), ".")
	if len(base) == 0 || len(base) > 8 || len(extension) > 3 {
		return nil, fmt.Errorf("%q is not a name of 8 and 3 characters", loader.EFIName)
	}
	sectors := (len(loader.EFI) + sectorSize - 1) / sectorSize
	switch {
	case sectors == 0:
		return nil, errors.New("the program for UEFI is empty")
	case sectors > fatClusters-clusterFile:
		return nil, fmt.Errorf("the program for UEFI has %d bytes, which do not fit", len(loader.EFI))
	}
	boot := bootRecord(id)
	table, info := allocation(sectors)
	at := func(sector int) int64 { return espStart + int64(sector)*sectorSize }
	cluster := func(n int) int64 { return at(fatData + n - 2) }
	return []chunk{
		{at(0), boot}, {at(1), info}, {at(6), boot}, {at(7), info},
		{at(fatReserved), table}, {at(fatReserved + fatLength), table},
		{cluster(clusterRoot), folder(entry("ESP", "", fatLabel, 0, 0), entry("EFI", "", fatFolder, clusterEFI, 0))},
		{cluster(clusterEFI), folder(entry(".", "", fatFolder, clusterEFI, 0), entry("..", "", fatFolder, 0, 0), entry("BOOT", "", fatFolder, clusterBoot, 0))},
		{cluster(clusterBoot), folder(entry(".", "", fatFolder, clusterBoot, 0), entry("..", "", fatFolder, clusterEFI, 0),
			entry(base, extension, 0, clusterFile, len(loader.EFI)))},
		{cluster(clusterFile), loader.EFI},
	}, nil
}

// bootRecord is the first sector, which describes the file system.
func bootRecord(id uuid.UUID) []byte {
	b := make([]byte, sectorSize)
	copy(b, "\xeb\x58\x90SLIPWAY ")
	put16(b[11:], sectorSize)
	b[13] = 1 // sector of a cluster
	put16(b[14:], fatReserved)
	b[16] = 2         // tables
	b[21] = 0xf8      // a fixed disk
	put16(b[24:], 32) // sectors of a track and
	put16(b[26:], 8)  // heads, which nothing uses
	put32(b[28:], espStart/sectorSize)
	put32(b[32:], fatSectors)
	put32(b[36:], fatLength)
	put32(b[44:], clusterRoot)
	put16(b[48:], 1) // the sector with the count of free clusters
	put16(b[50:], 6) // the copy of this sector
	b[64], b[66] = 0x80, 0x29
	copy(b[67:71], id[:4])
	copy(b[71:], "ESP        FAT32   ")
	b[510], b[511] = 0x55, 0xaa
	return b
}

// allocation is the table of clusters, and the sector that counts the free ones.
func allocation(sectors int) (table, info []byte) {
	table = make([]byte, fatLength*sectorSize)
	set := func(cluster int, next uint32) { put32(table[4*cluster:], next) }
	set(0, 0x0ffffff8)
	set(1, fatEnd)
	for _, folder := range []int{clusterRoot, clusterEFI, clusterBoot} {
		set(folder, fatEnd)
	}
	for n := clusterFile; n < clusterFile+sectors-1; n++ {
		set(n, uint32(n+1))
	}
	set(clusterFile+sectors-1, fatEnd)
	info = make([]byte, sectorSize)
	copy(info, "RRaA")
	copy(info[484:], "rrAa")
	put32(info[488:], uint32(fatClusters-3-sectors))
	put32(info[492:], uint32(clusterFile+sectors))
	put32(info[508:], 0xaa550000)
	return table, info
}

// entry is one name in a folder. Its times are the first that there are, 1980.
func entry(name, extension string, attributes byte, cluster, size int) []byte {
	b := make([]byte, 32)
	copy(b, fmt.Sprintf("%-8s%-3s", name, extension))
	b[11] = attributes
	for _, date := range []int{16, 18, 24} {
		put16(b[date:], 1<<5|1)
	}
	put16(b[20:], uint16(cluster>>16))
	put16(b[26:], uint16(cluster))
	put32(b[28:], uint32(size))
	return b
}

func folder(entries ...[]byte) []byte {
	b := make([]byte, sectorSize)
	for i, e := range entries {
		copy(b[32*i:], e)
	}
	return b
}
