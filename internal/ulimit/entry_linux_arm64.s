//go:build !cgo

#include "textflag.h"
#include "floor.h"

TEXT ·entry(SB), NOSPLIT|NOFRAME, $0
	MOVD	$163, R8 // getrlimit(2), below the stack
	MOVD	$9, R0 // RLIMIT_AS
	SUB	$64, RSP, R1
	SVC
	MOVD	$tooFewAddresses<>(SB), R3
	MOVD	$124, R4
	CBNZ	R0, next0
	SUB	$64, RSP, R1
	MOVD	(R1), R5
	MOVD	$(FLOOR_ADDRESS_MIB<<20), R6
	CMP	R6, R5
	BLO	low
next0:
	MOVD	$163, R8 // getrlimit(2), below the stack
	MOVD	$2, R0 // RLIMIT_DATA
	SUB	$64, RSP, R1
	SVC
	MOVD	$tooLittleData<>(SB), R3
	MOVD	$123, R4
	CBNZ	R0, next1
	SUB	$64, RSP, R1
	MOVD	(R1), R5
	MOVD	$(FLOOR_DATA_MIB<<20), R6
	CMP	R6, R5
	BLO	low
next1:
	B	_rt0_arm64_linux(SB)
low:
	MOVD	$64, R8 // write(2)
	MOVD	$2, R0
	MOVD	R3, R1
	MOVD	R4, R2
	SVC
	MOVD	$94, R8 // exit_group(2)
	MOVD	$1, R0
	SVC

DATA tooFewAddresses<>+0(SB)/8, $"muster: "
DATA tooFewAddresses<>+8(SB)/8, $"it needs"
DATA tooFewAddresses<>+16(SB)/8, $" 1500 Mi"
DATA tooFewAddresses<>+24(SB)/8, $"B of mem"
DATA tooFewAddresses<>+32(SB)/8, $"ory, and"
DATA tooFewAddresses<>+40(SB)/8, $" the lim"
DATA tooFewAddresses<>+48(SB)/8, $"it (ulim"
DATA tooFewAddresses<>+56(SB)/8, $"it -v) i"
DATA tooFewAddresses<>+64(SB)/8, $"s lower."
DATA tooFewAddresses<>+72(SB)/8, $" Raise t"
DATA tooFewAddresses<>+80(SB)/8, $"he limit"
DATA tooFewAddresses<>+88(SB)/8, $", or rem"
DATA tooFewAddresses<>+96(SB)/8, $"ove it: "
DATA tooFewAddresses<>+104(SB)/8, $"ulimit -"
DATA tooFewAddresses<>+112(SB)/8, $"v unlimi"
DATA tooFewAddresses<>+120(SB)/8, $"ted\n\x00\x00\x00\x00"
GLOBL tooFewAddresses<>(SB), NOPTR|RODATA, $128

DATA tooLittleData<>+0(SB)/8, $"muster: "
DATA tooLittleData<>+8(SB)/8, $"it needs"
DATA tooLittleData<>+16(SB)/8, $" 256 MiB"
DATA tooLittleData<>+24(SB)/8, $" of memo"
DATA tooLittleData<>+32(SB)/8, $"ry, and "
DATA tooLittleData<>+40(SB)/8, $"the limi"
DATA tooLittleData<>+48(SB)/8, $"t (ulimi"
DATA tooLittleData<>+56(SB)/8, $"t -d) is"
DATA tooLittleData<>+64(SB)/8, $" lower. "
DATA tooLittleData<>+72(SB)/8, $"Raise th"
DATA tooLittleData<>+80(SB)/8, $"e limit,"
DATA tooLittleData<>+88(SB)/8, $" or remo"
DATA tooLittleData<>+96(SB)/8, $"ve it: u"
DATA tooLittleData<>+104(SB)/8, $"limit -d"
DATA tooLittleData<>+112(SB)/8, $" unlimit"
DATA tooLittleData<>+120(SB)/8, $"ed\n\x00\x00\x00\x00\x00"
GLOBL tooLittleData<>(SB), NOPTR|RODATA, $128
