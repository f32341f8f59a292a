package dev.verbena.internal;

import static dev.verbena.internal.ErrorConvention.ERRNO;
import static dev.verbena.internal.ErrorConvention.LONG_MINUS_ONE;
import static dev.verbena.internal.ErrorConvention.MINUS_ONE;

/** The functions of {@link Rsockets} in C. NativeFunctionsTest generates this class. */
final class NativeRsockets extends NativeFunctions implements Rsockets {
  NativeRsockets(Library library) {
    super(library);
  }

  /** Loads the library. */
  static Library library() {
    return Library.of("librdmacm.so.1", "librdmacm1 and ibverbs-providers", "rsocket");
  }

  @Override
  public int rsocket(int domain, int type, int protocol) {
    return (int) symbol("rsocket", 0, MINUS_ONE, domain, type, protocol);
  }

  @Override
  public void rbind(int socket, long address, int length) {
    symbol("rbind", 0, MINUS_ONE, socket, address, length);
  }

  @Override
  public void rlisten(int socket, int backlog) {
    symbol("rlisten", 0, MINUS_ONE, socket, backlog);
  }

  @Override
  public int raccept(int socket, long address, long length) {
    return (int) symbol("raccept", 0, MINUS_ONE, socket, address, length);
  }

  @Override
  public void rconnect(int socket, long address, int length) {
    symbol("rconnect", 0, MINUS_ONE, socket, address, length);
  }

  @Override
  public void rshutdown(int socket, int how) {
    symbol("rshutdown", 0, MINUS_ONE, socket, how);
  }

  @Override
  public void rclose(int socket) {
    symbol("rclose", 0, ERRNO, socket);
  }

  @Override
  public long rrecv(int socket, long buffer, long length, int flags) {
    return symbol("rrecv", 0, LONG_MINUS_ONE, socket, buffer, length, flags);
  }

  @Override
  public long rrecvfrom(
      int socket, long buffer, long length, int flags, long source, long sourceLength) {
    return symbol(
        "rrecvfrom", 0, LONG_MINUS_ONE, socket, buffer, length, flags, source, sourceLength);
  }

  @Override
  public long rrecvmsg(int socket, long message, int flags) {
    return symbol("rrecvmsg", 0, LONG_MINUS_ONE, socket, message, flags);
  }

  @Override
  public long rsend(int socket, long buffer, long length, int flags) {
    return symbol("rsend", 0, LONG_MINUS_ONE, socket, buffer, length, flags);
  }

  @Override
  public long rsendto(int socket, long buffer, long length, int flags, long destination, int size) {
    return symbol("rsendto", 0, LONG_MINUS_ONE, socket, buffer, length, flags, destination, size);
  }

  @Override
  public long rsendmsg(int socket, long message, int flags) {
    return symbol("rsendmsg", 0, LONG_MINUS_ONE, socket, message, flags);
  }

  @Override
  public long rread(int socket, long buffer, long count) {
    return symbol("rread", 0, LONG_MINUS_ONE, socket, buffer, count);
  }

  @Override
  public long rreadv(int socket, long iovec, int count) {
    return symbol("rreadv", 0, LONG_MINUS_ONE, socket, iovec, count);
  }

  @Override
  public long rwrite(int socket, long buffer, long count) {
    return symbol("rwrite", 0, LONG_MINUS_ONE, socket, buffer, count);
  }

  @Override
  public long rwritev(int socket, long iovec, int count) {
    return symbol("rwritev", 0, LONG_MINUS_ONE, socket, iovec, count);
  }

  @Override
  public int rpoll(long fds, long count, int milliseconds) {
    return (int) symbolOfObject("rpoll", 0, MINUS_ONE, fds, count, milliseconds);
  }

  @Override
  public int rselect(int count, long readable, long writable, long exceptional, long timeout) {
    return (int) symbol("rselect", 0, MINUS_ONE, count, readable, writable, exceptional, timeout);
  }

  @Override
  public void rgetpeername(int socket, long address, long length) {
    symbol("rgetpeername", 0, MINUS_ONE, socket, address, length);
  }

  @Override
  public void rgetsockname(int socket, long address, long length) {
    symbol("rgetsockname", 0, MINUS_ONE, socket, address, length);
  }

  @Override
  public void rsetsockopt(int socket, int level, int name, long value, int length) {
    symbol("rsetsockopt", 0, MINUS_ONE, socket, level, name, value, length);
  }

  @Override
  public void rgetsockopt(int socket, int level, int name, long value, long length) {
    symbol("rgetsockopt", 0, MINUS_ONE, socket, level, name, value, length);
  }

  @Override
  public int rfcntl(int socket, int command, int argument) {
    return (int) symbol("rfcntl", 0, MINUS_ONE, socket, command, argument);
  }

  @Override
  public long riomap(int socket, long buffer, long length, int protection, int flags, long offset) {
    return symbol("riomap", 0, LONG_MINUS_ONE, socket, buffer, length, protection, flags, offset);
  }

  @Override
  public void riounmap(int socket, long buffer, long length) {
    symbol("riounmap", 0, MINUS_ONE, socket, buffer, length);
  }

  @Override
  public long riowrite(int socket, long buffer, long count, long offset, int flags) {
    return symbol("riowrite", 0, LONG_MINUS_ONE, socket, buffer, count, offset, flags);
  }
}
