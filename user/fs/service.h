/*
 * service.h - answers one message of the kernel's file and pager protocols (user/abi.h).
 */
#ifndef USER_FS_SERVICE_H
#define USER_FS_SERVICE_H

#include "user/lib/gather.h"

/*
 * Turns the request in *msg into its reply. msg->page names a buffer of one page, in which data
 * arrives and leaves. Requests without the kernel's badge get -EPERM, unknown ones -ENOSYS.
 */
void service_answer(struct ipc_msg *msg);

/* The last reply reached nobody: the file that it opened is closed, one that it made goes. */
void service_undelivered(void);

#endif
