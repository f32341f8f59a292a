package dev.verbena.internal;

import static dev.verbena.internal.ErrorConvention.ERRNO;
import static dev.verbena.internal.ErrorConvention.LONG_MINUS_ONE;
import static dev.verbena.internal.ErrorConvention.MINUS_ONE;

/**
 * The functions of rsocket.h, which librdmacm exports: one line for each symbol, with its C name,
 * as in {@link Librdmacm}. Software devices do not implement them: in C they use libibverbs and the
 * kernel. {@link RsocketCalls} and {@link Rpoll} call those of the data path.
 */
@SharedLibrary(
    soname = "librdmacm.so.1",
    packages = "librdmacm1 and ibverbs-providers",
    anchor = "rsocket")
public interface Rsockets {
  // Sockets
  @Symbol(fails = MINUS_ONE)
  int rsocket(int domain, int type, int protocol);

  @Symbol(fails = MINUS_ONE)
  void rbind(int socket, long address, int length);

  @Symbol(fails = MINUS_ONE)
  void rlisten(int socket, int backlog);

  @Symbol(fails = MINUS_ONE)
  int raccept(int socket, long address, long length);

  @Symbol(fails = MINUS_ONE)
  void rconnect(int socket, long address, int length);

  @Symbol(fails = MINUS_ONE)
  void rshutdown(int socket, int how);

  @Symbol(fails = ERRNO)
  void rclose(int socket);

  // Data
  @Symbol(fails = LONG_MINUS_ONE)
  long rrecv(int socket, long buffer, long length, int flags);

  @Symbol(fails = LONG_MINUS_ONE)
  long rrecvfrom(int socket, long buffer, long length, int flags, long source, long sourceLength);

  @Symbol(fails = LONG_MINUS_ONE)
  long rrecvmsg(int socket, long message, int flags);

  @Symbol(fails = LONG_MINUS_ONE)
  long rsend(int socket, long buffer, long length, int flags);

  @Symbol(fails = LONG_MINUS_ONE)
  long rsendto(int socket, long buffer, long length, int flags, long destination, int size);

  @Symbol(fails = LONG_MINUS_ONE)
  long rsendmsg(int socket, long message, int flags);

  @Symbol(fails = LONG_MINUS_ONE)
  long rread(int socket, long buffer, long count);

  @Symbol(fails = LONG_MINUS_ONE)
  long rreadv(int socket, long iovec, int count);

  @Symbol(fails = LONG_MINUS_ONE)
  long rwrite(int socket, long buffer, long count);

  @Symbol(fails = LONG_MINUS_ONE)
  long rwritev(int socket, long iovec, int count);

  // Waiting
  @Symbol(fails = MINUS_ONE)
  int rpoll(long fds, long count, int milliseconds);

  @Symbol(fails = MINUS_ONE)
  int rselect(int count, long readable, long writable, long exceptional, long timeout);

  // Addresses and options
  @Symbol(fails = MINUS_ONE)
  void rgetpeername(int socket, long address, long length);

  @Symbol(fails = MINUS_ONE)
  void rgetsockname(int socket, long address, long length);

  @Symbol(fails = MINUS_ONE)
  void rsetsockopt(int socket, int level, int name, long value, int length);

  @Symbol(fails = MINUS_ONE)
  void rgetsockopt(int socket, int level, int name, long value, long length);

  @Symbol(fails = MINUS_ONE)
  int rfcntl(int socket, int command, int argument);

  // Direct access
  @Symbol(fails = LONG_MINUS_ONE)
  long riomap(int socket, long buffer, long length, int protection, int flags, long offset);

  @Symbol(fails = MINUS_ONE)
  void riounmap(int socket, long buffer, long length);

  @Symbol(fails = LONG_MINUS_ONE)
  long riowrite(int socket, long buffer, long count, long offset, int flags);
}
